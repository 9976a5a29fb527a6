package compile

import (
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// latestItem returns the item of the last phase of an address; first is the item of its first
// phase.
func (b *builder) latestItem(a addr.Addr, first int) int {
	if later := b.again[a]; len(later) > 0 {
		return later[len(later)-1]
	}
	return first
}

func (b *builder) latest(a addr.Addr, first int) int { return b.items[b.latestItem(a, first)].node }

// writtenAgain adds a step as the next phase of its address. Not every verb can have phases.
func (b *builder) writtenAgain(n, first int, s step.Step) (int, bool) {
	a := s.Addr()
	k := len(b.again[a]) + 2
	next, err := step.New(s.Verb, s.Args, append(slices.Clone(s.Attrs),
		step.Attr{Key: "phase", Value: strconv.Itoa(k)})...)
	if err != nil {
		b.twice(n, first, a)
		return 0, false
	}
	next.Source = s.Source
	i := b.add(item{step: next, node: n, phase: k})
	b.auto(b.latestItem(a, first), i, catalog.Hard, "the previous phase")
	b.again[a] = append(b.again[a], i)
	return i, true
}

func (b *builder) unordered(first, second, n int, a addr.Addr) {
	from, to := b.c.Nodes[first], b.c.Nodes[second]
	d := diag.Errorf(to.Range, "Address written twice",
		"%s and %s (at %s) both write %s. To apply one after the other, order them: after = [%s], or use a value of the first in the second. "+
			"Otherwise remove one of them.",
		to.ID, from.ID, from.Range, a, from.ID)
	d.Trace = append(within(b.c.Nodes[n]), from.Range)
	b.ds = append(b.ds, d)
}

// phaseOf returns the last phase that a state has a part in: its own phase, or the phase of the
// states before it.
func (b *builder) phaseOf(n int) int {
	k := 1
	for _, i := range b.of[n] {
		k = max(k, b.items[i].phase)
	}
	if k > 1 {
		return k
	}
	for _, items := range b.again {
		for _, i := range items {
			if p := b.items[i].phase; p > k && b.orders.before(b.items[i].node, n) {
				k = p
			}
		}
	}
	return k
}

// beforeNext orders an action of a phase before the steps of the next phase. A listener is thus
// notified of one state before the next state is applied.
func (b *builder) beforeNext(a *act) {
	for _, n := range a.on {
		for _, i := range b.of[n] {
			later := b.again[b.items[i].step.Addr()]
			if len(later) >= a.phase {
				b.auto(a.item, later[a.phase-1], catalog.Strong, a.name+" of the previous phase")
			}
		}
	}
}

// before reports whether all of one node precedes all of another node.
func (o *orders) before(earlier, later int) bool {
	if len(o.c.Edges) == 0 {
		return false
	}
	if o.reached == nil || o.from != earlier {
		o.from, o.reached = earlier, o.walk(earlier)
	}
	return o.reached[2*later]
}

// behindAny returns the nodes that are after all of another of the nodes.
func (o *orders) behindAny(nodes []int) map[int]bool {
	out, reached := map[int]bool{}, o.walk(nodes...)
	for _, n := range nodes {
		if reached[2*n] {
			out[n] = true
		}
	}
	return out
}

func (o *orders) build() {
	o.arcs = make([][]int, 2*len(o.c.Nodes))
	arc := func(a, b int) { o.arcs[a] = append(o.arcs[a], b) }
	for n, node := range o.c.Nodes {
		arc(2*n, 2*n+1)
		if p := node.Parent; p >= 0 {
			arc(2*p, 2*n)
			arc(2*n+1, 2*p+1)
		}
	}
	for _, e := range o.c.Edges {
		arc(2*e.Before+1, 2*e.After)
	}
}

// walk returns everything after the end of any of the given nodes.
func (o *orders) walk(from ...int) []bool {
	if o.arcs == nil {
		o.build()
	}
	reached := make([]bool, len(o.arcs))
	var todo []int
	for _, n := range from {
		todo = append(todo, 2*n+1)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range o.arcs[n] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}
