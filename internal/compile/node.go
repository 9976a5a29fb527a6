package compile

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
)

// add makes a graph node of an item.
func (b *builder) add(it item) int {
	b.items = append(b.items, it)
	return b.g.Node()
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

func (b *builder) virtual(name string, node int) int {
	return b.add(item{virtual: true, name: name, node: node})
}

// report adds the errors of a state, with the uses of its kind.
func (b *builder) report(node catalog.Node, ds diag.List) {
	for _, d := range ds {
		b.ds = append(b.ds, d.UsedAt(node.Trace))
	}
}

func (b *builder) twice(n, other int, a addr.Addr) {
	node, was := b.c.Nodes[n], b.c.Nodes[b.items[other].node]
	hint := "Remove one of them, or combine them."
	if k := a.Kind(); k == addr.KindExec || k == addr.KindWait || k == addr.KindCheck {
		hint = `Set a different name = "…" for one of them.`
	}
	d := diag.Errorf(used(node), "Address written twice", "%s and %s (at %s) both write %s. %s", node.ID, was.ID,
		used(was), a, hint)
	d.Trace = slices.Concat(within(node), []diag.Range{used(was)}, within(was))
	b.ds = append(b.ds, d)
}

// onlyActs reports whether a state has no step. Its triggers then fire after its actions.
func (b *builder) onlyActs(n int) bool { return len(b.of[n])+len(b.found[n]) == 0 }

// within returns the uses that lead from that place to the state. It is empty for a state outside
// of defined kinds.
func within(n catalog.Node) []diag.Range {
	return diag.Diagnostic{Range: n.Range}.UsedAt(n.Trace).Trace
}

// used returns the place to show in messages: the place of the state, or the outermost use of the
// kind that contains it.
func used(n catalog.Node) diag.Range {
	if len(n.Trace) > 0 {
		return n.Trace[len(n.Trace)-1]
	}
	return n.Range
}
