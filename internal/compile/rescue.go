package compile

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/step"
)

// mostBehind is the maximum size of the addresses after a block, in bytes of a line. If a block
// with more addresses after it fails, the run ends.
const mostBehind = step.MaxLine / 2

// rescues returns the attributes of a rescuing action: the block that it rescues, and the addresses
// that are not reached after a failure in the block. members are the addresses in it.
func (b blocks) rescues(a *act, members []addr.Addr, pos map[int]int) []step.Attr {
	if a.block < 0 {
		return nil
	}
	attrs, size := []step.Attr{{Key: "rescue", Value: b.c.Nodes[a.block].ID}}, 0
	inside := make(map[addr.Addr]bool, len(members))
	for _, x := range members {
		inside[x] = true
	}
	for _, x := range b.behindBlock(a.block, pos) {
		if inside[x] {
			continue
		}
		if size += len(" behind=") + len(x); size > mostBehind {
			return nil
		}
		attrs = append(attrs, step.Attr{Key: "behind", Value: string(x)})
	}
	return attrs
}

// behindBlock returns the addresses of all items after any item of a block, by any order including
// guesses, in the order of the list. An action is after the block if its own state is. Only a run
// determines whether other states trigger it.
func (b blocks) behindBlock(block int, pos map[int]int) []addr.Addr {
	after := b.afterBlock(block)
	var items []int
	for i := range after {
		it := b.items[i]
		ours := it.act == nil || after[b.last[it.act.to]]
		if !it.virtual && !it.held && ours && it.step.Verb != step.Check {
			items = append(items, i)
		}
	}
	slices.SortFunc(items, func(x, y int) int { return pos[x] - pos[y] })
	var out []addr.Addr
	seen := map[addr.Addr]bool{}
	for _, i := range items {
		if a := b.items[i].step.Addr(); !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// afterBlock returns the items of a block and all items that its failure prevents. Items after an
// action with other triggers are not included.
func (b blocks) afterBlock(block int) map[int]bool {
	after := map[int]bool{}
	var todo []int
	take := func(i int) {
		if !after[i] {
			after[i] = true
			todo = append(todo, i)
		}
	}
	take(b.last[block])
	for _, n := range b.c.Members(block) {
		take(b.last[n])
		for _, i := range b.of[n] {
			take(i)
		}
	}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		for _, arc := range b.g.Out(i) {
			if act := b.items[arc.To].act; act == nil || b.toldByNobody(act, after) {
				take(arc.To)
			}
		}
	}
	return after
}
