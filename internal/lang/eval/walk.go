package eval

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// walkScope adds the states of a scope to the catalog, below a group.
func walkScope(ev *Evaluator, s *Scope, parent int) {
	for _, st := range s.Order {
		ev.walk(st, parent)
	}
}

// walk adds one declaration to the catalog.
func (ev *Evaluator) walk(st *State, parent int) {
	checkDecl(ev, st)
	if ev.full {
		return
	}
	if st.decl.Group {
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
		st.node = ev.addGroup(st.Scope, parent, st.ID(), st.decl)
		parent = st.node
	}
	for _, in := range st.Keys {
		ev.walkInstance(in, parent)
	}
}

// checkDecl reports content that a declaration must not have, even if it is off.
func checkDecl(ev *Evaluator, st *State) {
	d := st.decl
	allowed := syntax.MetaAttributes()
	what := "block"
	if d.Group {
		allowed = append(slices.DeleteFunc(allowed, func(a string) bool { return a == "for_each" }),
			syntax.BlockAttributes()...)
	} else {
		allowed = append(allowed, attrNames(st.kind)...)
		what = st.kind.Name
	}
	for _, n := range d.Names {
		if !slices.Contains(allowed, n) {
			ev.Errorf(syntax.RangeOf(d.Attributes[n].NameRange), "Unknown attribute", "%s has no attribute %q.%s",
				diag.FirstOne(what), n, attributeHint(n, allowed))
		}
	}
	for _, b := range d.Blocks {
		hint := ""
		if slices.Contains(allowed, b.Type) {
			hint = " Write " + b.Type + " = { … }."
		}
		ev.Errorf(syntax.RangeOf(b.TypeRange), "Unexpected block", "%s can contain only attributes, not blocks.%s",
			diag.FirstOne(what), hint)
	}
}

func (ev *Evaluator) walkBlock(st *State, parent int) {
	on, refs, ok := ev.when(st, nil)
	if !ok || !on {
		return
	}
	st.node = ev.addGroup(st.Scope, parent, st.ID(), st.decl)
	ev.pending.depend(st.node, refs)
	ev.meta(st, nil, reference{state: st}, st.node)
	ev.parts(st)
	for _, m := range st.Members {
		ev.walk(m, st.node)
	}
}

// addGroup adds a node without steps of its own.
func (ev *Evaluator) addGroup(s *Scope, parent int, id string, d *source.Declaration) int {
	n := catalog.Node{ID: id, Parent: parent, Group: true, Trace: s.trace}
	if d != nil {
		n.Range = d.Range
	}
	ev.Catalog.Nodes = append(ev.Catalog.Nodes, n)
	return len(ev.Catalog.Nodes) - 1
}

func (ev *Evaluator) walkInstance(in *Instance, parent int) {
	st := in.State
	on, refs, ok := ev.when(st, in.Each)
	if !ok || !on {
		return
	}
	if m := in.Values["for_each"]; m != nil {
		refs = append(slices.Clone(refs), m.refs...)
	}
	if ev.count++; ev.count > catalog.MaxStates {
		ev.Errorf(st.decl.Range, "Too many states",
			"A target can have at most %d states. Distribute the states over several targets.", catalog.MaxStates)
		ev.full = true
		return
	}
	if st.Define != nil {
		ev.walkInvocation(in, parent, refs)
		return
	}
	s := kind.State{ID: in.ID, Kind: st.kind.Name, Label: st.decl.Label, Range: st.decl.Range, Files: filesOf(ev, st),
		Attrs:      make(map[string]cty.Value, len(st.kind.Attrs)),
		AttrRanges: make(map[string]diag.Range, len(st.decl.Attributes))}
	given, unknown, good := stateAttributes(ev, in, &s)
	refs, unknown = append(refs, given...), unknown || st.unknown || st.Scope.unknown()
	if !good {
		return
	}
	source := st.Scope.source
	if source == "" {
		source = sourceOf(st.decl.Range)
	}
	n := catalog.Node{ID: in.ID, Parent: parent, Range: st.decl.Range, Source: source, Trace: st.Scope.trace,
		Kind: st.kind, State: s}
	x, ok := standsFor(ev, st, &n, unknown)
	if !ok {
		return
	}
	if unknown {
		n.Unknown, n.Needs = true, neededCommands(ev, refs, st.Scope)
	}
	ev.Catalog.Nodes = append(ev.Catalog.Nodes, n)
	in.Node = len(ev.Catalog.Nodes) - 1
	if !st.each {
		st.node = in.Node
	}
	ev.pending.depend(in.Node, refs)
	ev.meta(st, in.Each, reference{state: st, instance: in}, in.Node)
	if x != nil {
		walkExpansion(ev, in, x)
	}
}

// stateAttributes evaluates the attributes of a state. It returns their references, and whether a value
// is only known after a run.
func stateAttributes(ev *Evaluator, in *Instance, s *kind.State) (refs []reference, unknown, good bool) {
	st := in.State
	good = true
	for _, a := range st.kind.Attrs {
		if a.Computed {
			if given := st.decl.Attributes[a.Name]; given != nil {
				ev.Errorf(syntax.RangeOf(given.NameRange), "Attribute is read-only",
					"The run sets %s. You can read the attribute, but not set it.", a.Name)
			}
			continue
		}
		m := ev.Attr(in, a.Name)
		good = good && m.OK
		unknown = unknown || m.OK && !m.Value.IsWhollyKnown()
		s.Attrs[a.Name] = m.Value
		refs = append(refs, m.refs...)
		if given := st.decl.Attributes[a.Name]; given != nil {
			s.AttrRanges[a.Name] = syntax.RangeOf(given.Expr.Range())
		}
	}
	return refs, unknown, good
}

// walkInvocation adds the states of a defined kind to the catalog.
func (ev *Evaluator) walkInvocation(in *Instance, parent int, refs []reference) {
	s := ev.open(in)
	if s == nil {
		return
	}
	in.Node = ev.addGroup(in.State.Scope, parent, in.ID, in.State.decl)
	ev.Catalog.Nodes[in.Node].Defined = in.State.decl.Kind
	s.node = in.Node
	if !in.State.each {
		in.State.node = in.Node
	}
	checkGuest(ev, in.State)
	for _, a := range in.State.kind.Attrs {
		refs = append(refs, ev.Attr(in, a.Name).refs...)
	}
	ev.pending.depend(in.Node, refs)
	ev.meta(in.State, in.Each, reference{state: in.State, instance: in}, in.Node)
	walkScope(ev, s, in.Node)
}

// meta reads the attributes for order and notifications, such as after, before and notify.
func (ev *Evaluator) meta(st *State, each map[string]cty.Value, self reference, node int) {
	at, mark := st.decl.Attributes, ev.observed.mark()
	defer func() { ev.observed.made(Outcome{Unshared: true}, mark) }()
	ev.Catalog.Nodes[node].Locks = locksOf(ev, st, each)
	for _, name := range []string{"after", "before"} {
		for _, r := range refList(ev, st.Scope, each, at[name]) {
			ev.pending.edges = append(ev.pending.edges, pendingEdge{node: node, other: r.reference, after: name == "after",
				why: name})
			noAction(ev, r, name)
		}
	}
	for _, name := range []string{"notify", "notify_failure"} {
		for _, r := range refList(ev, st.Scope, each, at[name]) {
			ev.notify(pendingTrigger{from: self, failure: name == "notify_failure"}, r)
		}
	}
	for _, name := range []string{"listen", "listen_failure"} {
		if a := at[name]; a != nil {
			readListen(ev, st, each, self, a)
		}
	}
}

// parts reads rescue and always of a block. Rescue actions run after a failure; always actions run
// after any change or failure in the block. States after the block are also after these actions.
func (ev *Evaluator) parts(st *State) {
	self := reference{state: st}
	for _, r := range refList(ev, st.Scope, nil, st.decl.Attributes["rescue"]) {
		ev.notify(pendingTrigger{from: self, failure: true, rescue: true}, r)
	}
	for _, r := range refList(ev, st.Scope, nil, st.decl.Attributes["always"]) {
		ev.notify(pendingTrigger{from: self, failure: true}, r)
		ev.notify(pendingTrigger{from: self}, r)
		ev.pending.always = append(ev.pending.always, pendingEdge{node: st.node, other: r.reference})
	}
}

// walkUnknown adds a declaration with an unknown number of states to the catalog. One node
// represents all its states.
func (ev *Evaluator) walkUnknown(st *State, parent int) {
	m := &Memo{}
	_, m.refs, m.OK = ev.evalLater(st.Scope, nil, st.decl.Attributes["for_each"].Expr)
	n := catalog.Node{ID: st.ID(), Parent: parent, Range: st.decl.Range, Trace: st.Scope.trace, Kind: st.kind,
		Unknown: true, Needs: neededCommands(ev, m.refs, st.Scope)}
	ev.Catalog.Nodes = append(ev.Catalog.Nodes, n)
	st.node = len(ev.Catalog.Nodes) - 1
	ev.pending.depend(st.node, m.refs)
	each := map[string]cty.Value{"key": cty.UnknownVal(cty.String), "value": cty.DynamicVal}
	ev.meta(st, each, reference{state: st}, st.node)
}

// walkExpansion adds the states of an expansion to the catalog. They are private, like the states
// in a defined kind. Their steps have the place of the expanded state.
func walkExpansion(ev *Evaluator, in *Instance, x *kind.Expansion) {
	st := in.State
	body, ds := ev.Program.Expansion(st.Scope.Directory, x)
	for i := range ds {
		ds[i] = ds[i].UsedAt(append([]diag.Range{st.decl.Range}, st.Scope.trace...))
	}
	ev.Add(ds...)
	switch {
	case ds.HasErrors():
		return
	case st.Scope.depth >= maxInvocations:
		ev.Errorf(st.decl.Range, "Kinds nested too deeply",
			"Generators and defined kinds can use each other at most %d levels deep. Check for a kind that uses itself.",
			maxInvocations)
		return
	}
	s := newScope(ev, body, in.ID+"/", st.decl.Kind+" "+st.decl.Label)
	s.depth, s.source = st.Scope.depth+1, st.Scope.source
	if s.source == "" {
		s.source = sourceOf(st.decl.Range)
	}
	s.trace = append([]diag.Range{st.decl.Range}, st.Scope.trace...)
	s.Facts, s.Vars, s.varObj = map[string]cty.Value{}, map[string]cty.Value{}, cty.EmptyObjectVal
	s.node, s.Assigned = in.Node, true
	walkScope(ev, s, in.Node)
}
