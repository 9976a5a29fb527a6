package compile

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

func newBuilder(c *catalog.Catalog) *builder {
	return &builder{
		c: c, g: catalog.NewGraph(0), of: make([][]int, len(c.Nodes)),
		first: make([]int, len(c.Nodes)), last: make([]int, len(c.Nodes)),
		addrs: map[addr.Addr]int{}, blobs: map[string]kind.Blob{}, notes: make([]note, 1),
		again: map[addr.Addr][]int{}, orders: orders{c: c}, finds: map[int]bool{}, found: map[int][]int{},
		sharers: map[int][]int{}, ranAfter: map[int][]int{},
	}
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
		b.declared = append(b.declared, [2]int{before, after})
		b.arc(b.last[before], b.first[after], catalog.Hard, e.Why, e.Range)
	}
}
