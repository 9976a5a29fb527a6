package lang

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// walkScope adds the states of a scope to the catalog, below a group.
func (ev *evaluator) walkScope(s *scope, parent int) {
	for _, st := range s.order {
		ev.walk(st, parent)
	}
}

// walk adds one declaration to the catalog.
func (ev *evaluator) walk(st *state, parent int) {
	ev.checkDecl(st)
	if ev.full {
		return
	}
	if st.decl.group {
		ev.walkBlock(st, parent)
		return
	}
	ev.expand(st)
	if st.bad {
		return
	}
	if st.each && st.unknown {
		ev.walkUnknown(st, parent)
		return
	}
	if st.each {
		st.node = ev.addGroup(st.scope, parent, st.id(), st.decl)
		parent = st.node
	}
	for _, in := range st.keys {
		ev.walkInstance(in, parent)
	}
}

// checkDecl reports content that a declaration must not have, even if it is off.
func (ev *evaluator) checkDecl(st *state) {
	d := st.decl
	allowed := metaAttributes()
	what := "block"
	if d.group {
		allowed = append(slices.DeleteFunc(allowed, func(a string) bool { return a == "for_each" }), blockAttributes()...)
	} else {
		allowed = append(allowed, attrNames(st.kind)...)
		what = st.kind.Name
	}
	for _, n := range d.names {
		if !contains(allowed, n) {
			ev.errorf(rangeOf(d.attrs[n].NameRange), "Unknown attribute", "%s has no attribute %q.%s", diag.FirstOne(what), n, attributeHint(n, allowed))
		}
	}
	for _, b := range d.blocks {
		hint := ""
		if contains(allowed, b.Type) {
			hint = " Write " + b.Type + " = { … }."
		}
		ev.errorf(rangeOf(b.TypeRange), "Unexpected block", "%s can contain only attributes, not blocks.%s", diag.FirstOne(what), hint)
	}
}

func (ev *evaluator) walkBlock(st *state, parent int) {
	on, refs, ok := ev.when(st, nil)
	if !ok || !on {
		return
	}
	st.node = ev.addGroup(st.scope, parent, st.id(), st.decl)
	ev.depend(st.node, refs)
	ev.meta(st, nil, ref{state: st}, st.node)
	ev.parts(st)
	for _, m := range st.members {
		ev.walk(m, st.node)
	}
}

// addGroup adds a node without steps of its own.
func (ev *evaluator) addGroup(s *scope, parent int, id string, d *decl) int {
	n := catalog.Node{ID: id, Parent: parent, Group: true, Trace: s.trace}
	if d != nil {
		n.Range = d.rng
	}
	ev.cat.Nodes = append(ev.cat.Nodes, n)
	return len(ev.cat.Nodes) - 1
}

func (ev *evaluator) walkInstance(in *instance, parent int) {
	st := in.st
	on, refs, ok := ev.when(st, in.each)
	if !ok || !on {
		return
	}
	if m := in.vals["for_each"]; m != nil {
		refs = append(slices.Clone(refs), m.refs...)
	}
	if ev.count++; ev.count > catalog.MaxStates {
		ev.errorf(st.decl.rng, "Too many states",
			"A target can have at most %d states. Distribute the states over several targets.", catalog.MaxStates)
		ev.full = true
		return
	}
	if st.def != nil {
		ev.walkInvocation(in, parent, refs)
		return
	}
	s := kind.State{ID: in.id, Kind: st.kind.Name, Label: st.decl.label, Range: st.decl.rng, Files: ev.filesOf(st),
		Attrs: make(map[string]cty.Value, len(st.kind.Attrs)), AttrRanges: make(map[string]diag.Range, len(st.decl.attrs))}
	given, unknown, good := ev.attributes(in, &s)
	refs, unknown = append(refs, given...), unknown || st.unknown || st.scope.unknown()
	if !good {
		return
	}
	source := st.scope.source
	if source == "" {
		source = sourceOf(st.decl.rng)
	}
	n := catalog.Node{ID: in.id, Parent: parent, Range: st.decl.rng, Source: source, Trace: st.scope.trace, Kind: st.kind, State: s}
	x, ok := ev.standsFor(st, &n, unknown)
	if !ok {
		return
	}
	if unknown {
		n.Unknown, n.Needs = true, ev.needs(refs, st.scope)
	}
	ev.cat.Nodes = append(ev.cat.Nodes, n)
	in.node = len(ev.cat.Nodes) - 1
	if !st.each {
		st.node = in.node
	}
	ev.depend(in.node, refs)
	ev.meta(st, in.each, ref{state: st, inst: in}, in.node)
	if x != nil {
		ev.walkExpansion(in, x)
	}
}

// attributes evaluates the attributes of a state. It returns their references, and whether a value
// is only known after a run.
func (ev *evaluator) attributes(in *instance, s *kind.State) (refs []ref, unknown, good bool) {
	st := in.st
	good = true
	for _, a := range st.kind.Attrs {
		if a.Computed {
			if given := st.decl.attrs[a.Name]; given != nil {
				ev.errorf(rangeOf(given.NameRange), "Attribute is read-only", "The run sets %s. You can read the attribute, but not set it.", a.Name)
			}
			continue
		}
		m := ev.attr(in, a.Name)
		good = good && m.ok
		unknown = unknown || m.ok && !m.val.IsWhollyKnown()
		s.Attrs[a.Name] = m.val
		refs = append(refs, m.refs...)
		if given := st.decl.attrs[a.Name]; given != nil {
			s.AttrRanges[a.Name] = rangeOf(given.Expr.Range())
		}
	}
	return refs, unknown, good
}

// walkInvocation adds the states of a defined kind to the catalog.
func (ev *evaluator) walkInvocation(in *instance, parent int, refs []ref) {
	s := ev.open(in)
	if s == nil {
		return
	}
	in.node = ev.addGroup(in.st.scope, parent, in.id, in.st.decl)
	ev.cat.Nodes[in.node].Defined = in.st.decl.kind
	s.node = in.node
	if !in.st.each {
		in.st.node = in.node
	}
	for _, a := range in.st.kind.Attrs {
		refs = append(refs, ev.attr(in, a.Name).refs...)
	}
	ev.depend(in.node, refs)
	ev.meta(in.st, in.each, ref{state: in.st, inst: in}, in.node)
	ev.walkScope(s, in.node)
}

// depend orders a node after its references.
func (ev *evaluator) depend(node int, refs []ref) {
	for _, r := range refs {
		ev.edges = append(ev.edges, pendingEdge{node: node, other: r, after: true, why: "reference"})
	}
}

// meta reads the attributes for order and notifications, such as after, before and notify.
func (ev *evaluator) meta(st *state, each map[string]cty.Value, self ref, node int) {
	at, mark := st.decl.attrs, ev.mark()
	defer func() { ev.unshared(mark) }()
	for _, name := range []string{"after", "before"} {
		for _, r := range ev.refList(st.scope, each, at[name]) {
			ev.edges = append(ev.edges, pendingEdge{node: node, other: r.ref, after: name == "after", why: name})
			ev.noAction(r, name)
		}
	}
	for _, name := range []string{"notify", "notify_failure"} {
		for _, r := range ev.refList(st.scope, each, at[name]) {
			ev.notify(pendingTrigger{from: self, failure: name == "notify_failure"}, r)
		}
	}
	for _, name := range []string{"listen", "listen_failure"} {
		if a := at[name]; a != nil {
			ev.listen(st, each, self, a)
		}
	}
}

// parts reads rescue and always of a block. Rescue actions run after a failure; always actions run
// after any change or failure in the block. States after the block are also after these actions.
func (ev *evaluator) parts(st *state) {
	self := ref{state: st}
	for _, r := range ev.refList(st.scope, nil, st.decl.attrs["rescue"]) {
		ev.notify(pendingTrigger{from: self, failure: true, rescue: true}, r)
	}
	for _, r := range ev.refList(st.scope, nil, st.decl.attrs["always"]) {
		ev.notify(pendingTrigger{from: self, failure: true}, r)
		ev.notify(pendingTrigger{from: self}, r)
		ev.always = append(ev.always, pendingEdge{node: st.node, other: r.ref})
	}
}

// afterAlways orders states after a block also after its always part.
func (ev *evaluator) afterAlways() {
	for _, a := range ev.always {
		for _, e := range ev.cat.Edges {
			if o := a.other.node(); e.Before == a.node && o >= 0 && o != e.After {
				ev.cat.Edges = append(ev.cat.Edges, catalog.Edge{Before: o, After: e.After, Why: e.Why, Range: e.Range})
			}
		}
	}
}

// link turns pending edges and triggers into edges of the catalog, because every node now has its
// number. A state that is off has no number, and its edges are dropped.
func (ev *evaluator) link() {
	seen := map[catalog.Edge]bool{}
	for _, e := range ev.edges {
		o := e.other.node()
		if o < 0 || o == e.node && e.why == "reference" {
			continue
		}
		x := catalog.Edge{Before: o, After: e.node, Why: e.why, Range: e.other.rng}
		if !e.after {
			x.Before, x.After = e.node, o
		}
		key := catalog.Edge{Before: x.Before, After: x.After}
		if !seen[key] {
			seen[key] = true
			ev.cat.Edges = append(ev.cat.Edges, x)
		}
	}
	ev.afterAlways()
	done := map[catalog.Trigger]bool{}
	for _, t := range ev.trigs {
		x := catalog.Trigger{From: t.from.node(), To: t.to.node(), Action: t.action, Immediate: t.immediate, Failure: t.failure, Rescue: t.rescue}
		if x.From < 0 || x.To < 0 || done[x] {
			continue
		}
		done[x] = true
		x.Range = t.rng
		ev.cat.Triggers = append(ev.cat.Triggers, x)
	}
	slices.SortStableFunc(ev.cat.Triggers, func(a, b catalog.Trigger) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
}
