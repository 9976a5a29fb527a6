package compile

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// builder makes one list. Its graph has a node for each step and action, and nodes without a step
// for groups and for shared guesses.
type builder struct {
	c     *catalog.Catalog
	g     *catalog.Graph
	items []item
	// of has the items of each state of the catalog.
	of          [][]int
	first, last []int // graph nodes by catalog node
	addrs       map[addr.Addr]int
	blobs       map[string]kind.Blob
	notes       []note
	acts        []*act
	again       map[addr.Addr][]int // items that write an address in later phases, in order
	orders      orders
	finds       map[int]bool // states whose step is already done by a state ordered before them
	// found has the items that such states also request. An item cannot be both in a group and
	// before it, so it belongs to the earlier state.
	found     map[int][]int
	sharers   map[int][]int           // states, other than the owner, that request an item
	ranAfter  map[int][]int           // cached results of ran
	ways      map[string][]diag.Range // the uses that lead to a state of the list, by its ID
	heldNodes []bool                  // states that wait for a value of a run, by catalog node
	ds        diag.List
}

// item is one node of the graph.
type item struct {
	step    step.Step
	node    int  // of the catalog
	virtual bool // has no step
	name    string
	act     *act // the step is a deferred action
	phase   int  // of the step's address, from 1; 0 is 1
	held    bool // deferred until a run provides more values
}

// note explains an arc.
type note struct {
	why string
	rng diag.Range
}

func newBuilder(c *catalog.Catalog) *builder {
	return &builder{
		c: c, g: catalog.NewGraph(0), of: make([][]int, len(c.Nodes)),
		first: make([]int, len(c.Nodes)), last: make([]int, len(c.Nodes)),
		addrs: map[addr.Addr]int{}, blobs: map[string]kind.Blob{}, notes: make([]note, 1),
		again: map[addr.Addr][]int{}, orders: orders{c: c}, finds: map[int]bool{}, found: map[int][]int{}, sharers: map[int][]int{}, ranAfter: map[int][]int{},
	}
}

// add makes a graph node of an item.
func (b *builder) add(it item) int {
	b.items = append(b.items, it)
	return b.g.Node()
}

func (b *builder) virtual(name string, node int) int {
	return b.add(item{virtual: true, name: name, node: node})
}

func (b *builder) arc(from, to int, s catalog.Strength, why string, rng diag.Range) {
	b.notes = append(b.notes, note{why, rng})
	b.g.Add(catalog.Arc{From: from, To: to, Strength: s, Note: len(b.notes) - 1})
}

// auto adds an implicit arc. Messages show it at the place of the later state.
func (b *builder) auto(from, to int, s catalog.Strength, why string) {
	b.arc(from, to, s, why, b.rangeOf(to))
}

func (b *builder) rangeOf(i int) diag.Range {
	if n := b.items[i].node; n >= 0 {
		return used(b.c.Nodes[n])
	}
	return diag.Range{}
}

// states turns every state into steps.
func (b *builder) states() {
	for n, node := range b.c.Nodes {
		if node.Group {
			continue
		}
		out, ds := b.stepsOf(node)
		b.report(node, ds)
		for _, blob := range out.Blobs {
			b.blobs[blob.Digest] = blob
		}
		for _, s := range out.Steps {
			s.Source = node.Source
			if i, ok := b.claim(n, s); ok {
				b.of[n] = append(b.of[n], i)
			}
		}
	}
	b.share()
	for n, node := range b.c.Nodes {
		if !node.Group {
			b.ends(n)
		}
	}
}

// report adds the errors of a state, with the uses of its kind.
func (b *builder) report(node catalog.Node, ds diag.List) {
	for _, d := range ds {
		b.ds = append(b.ds, d.UsedAt(node.Trace))
	}
}

// used returns the place to show in messages: the place of the state, or the outermost use of the
// kind that contains it.
func used(n catalog.Node) diag.Range {
	if len(n.Trace) > 0 {
		return n.Trace[len(n.Trace)-1]
	}
	return n.Range
}

// within returns the uses that lead from that place to the state. It is empty for a state outside
// of defined kinds.
func within(n catalog.Node) []diag.Range {
	return diag.Diagnostic{Range: n.Range}.UsedAt(n.Trace).Trace
}

// claim adds a step with an unused address. States with the same request for a package, directory
// or unit share the step. Two invocations of a defined kind that the author ordered can change an
// address one after another. Any other use of the address is an error.
func (b *builder) claim(n int, s step.Step) (int, bool) {
	a := s.Addr()
	i, taken := b.addrs[a]
	if !taken {
		i = b.add(item{step: s, node: n})
		b.addrs[a] = i
		return i, true
	}
	other := b.items[i].node
	s = b.sameNeed(n, i, s)
	if (shared(s.Verb) || b.ofTwoModules(other, n)) && s.Same(b.items[i].step) && other != n {
		b.sharers[i] = append(b.sharers[i], n)
		return i, true
	}
	from, to, ok := b.sameKind(b.latest(a, i), n)
	switch {
	case !ok:
		b.twice(n, i, a)
	case !b.orders.before(from, to):
		b.unordered(from, to, n, a)
	case s.Same(b.items[b.latestItem(a, i)].step) && !b.c.Nodes[n].Unknown:
		b.finds[n] = true
	default:
		return b.writtenAgain(n, i, s)
	}
	return 0, false
}

// shared reports whether several states can request the same step.
func shared(v step.Verb) bool { return v == step.Pkg || v == step.Mkdir || v == step.Unit }

func (b *builder) twice(n, other int, a addr.Addr) {
	node, was := b.c.Nodes[n], b.c.Nodes[b.items[other].node]
	hint := "Remove one of them, or combine them."
	if k := a.Kind(); k == addr.KindExec || k == addr.KindWait || k == addr.KindCheck {
		hint = `Set a different name = "…" for one of them.`
	}
	d := diag.Errorf(used(node), "Address written twice", "%s and %s (at %s) both write %s. %s", node.ID, was.ID, used(was), a, hint)
	d.Trace = slices.Concat(within(node), []diag.Range{used(was)}, within(was))
	b.ds = append(b.ds, d)
}

// ends chains a state's steps and notes the first and last.
func (b *builder) ends(n int) {
	if len(b.of[n]) == 0 {
		b.first[n] = b.virtual("", n)
		b.last[n] = b.first[n]
		return
	}
	prev := -1
	for _, i := range b.of[n] {
		if prev >= 0 {
			b.arc(prev, i, catalog.Hard, "the order of its steps", b.c.Nodes[n].Range)
		}
		prev = i
	}
	b.first[n], b.last[n] = b.of[n][0], prev
}

// groups brackets the members of each group between two nodes.
func (b *builder) groups() {
	for n, node := range b.c.Nodes {
		if node.Group {
			b.first[n], b.last[n] = b.virtual("", n), b.virtual("", n)
			b.arc(b.first[n], b.last[n], catalog.Hard, "", used(node))
		}
	}
	for n, node := range b.c.Nodes {
		if p := node.Parent; p >= 0 {
			b.arc(b.first[p], b.first[n], catalog.Hard, "member", used(node))
			if !b.isCheck(n) { // states after a group need not wait for its checks
				b.arc(b.last[n], b.last[p], catalog.Hard, "member", used(node))
			}
		}
	}
}

// isCheck reports whether a state compiles to a CHECK, which runs after all other steps.
func (b *builder) isCheck(n int) bool {
	return len(b.of[n]) > 0 && b.items[b.of[n][0]].step.Verb == step.Check
}

// absent reports whether a state only removes things.
func (b *builder) absent(n int) bool {
	for _, i := range b.of[n] {
		if !b.items[i].step.Absent() {
			return false
		}
	}
	return len(b.of[n]) > 0
}

// explicit adds the order that the author wrote. A reference between two states that are both
// absent orders them in reverse: the state that was created last is removed first.
func (b *builder) explicit() {
	for _, e := range b.c.Edges {
		before, after := e.Before, e.After
		if e.Why == "reference" && b.absent(before) && b.absent(after) {
			before, after = after, before
		}
		if b.isCheck(before) && !b.isCheck(after) {
			if e.Why != "reference" {
				b.ds = append(b.ds, diag.Errorf(e.Range, "State ordered after a check",
					"Checks run after all steps, so no state can be ordered after %s. Remove the reference.", b.c.Nodes[before].ID))
			}
			continue
		}
		b.arc(b.last[before], b.first[after], catalog.Hard, e.Why, e.Range)
	}
}
