package catalog

import (
	"container/heap"
	"math"
	"slices"
)

// Rank decides which of the ready nodes is next.
type Rank struct {
	// Of is the place a node would like to have, lower first; equal places go
	// by number. nil: the number itself.
	Of func(n int) int
	// Together marks nodes that are kept adjacent where the arcs allow it. Such a node is
	// only moved forward for that, never back. A node with a later place precedes it only
	// if one of the marked nodes up to that place needs it.
	Together func(n int) bool
	// Free marks nodes that stand for no step: they come as soon as they may,
	// and interrupt nothing.
	Free func(n int) bool
}

// Order gives all nodes so that every arc points forward. It must be acyclic:
// call Settle first. Nodes on a cycle are left out.
func (g *Graph) Order(r Rank) []int {
	if r.Of == nil {
		r.Of = func(n int) int { return n }
	}
	if r.Together == nil {
		r.Together = func(int) bool { return false }
	}
	if r.Free == nil {
		r.Free = func(int) bool { return false }
	}
	in := g.incoming()
	early := g.early(r)
	of := func(n int) int { return early[n] }
	single, joint, free := &queue{of: of}, &queue{of: of}, &queue{of: of}
	push := func(n int) {
		switch {
		case r.Free(n):
			heap.Push(free, n)
		case r.Together(n):
			heap.Push(joint, n)
		default:
			heap.Push(single, n)
		}
	}
	for n, c := range in {
		if c == 0 {
			push(n)
		}
	}
	order := make([]int, 0, len(g.out))
	last := false
	for single.Len()+joint.Len()+free.Len() > 0 {
		from := free
		if free.Len() == 0 {
			from = r.pick(single, joint, last)
			last = from == joint
		}
		n := heap.Pop(from).(int)
		order = append(order, n)
		for _, a := range g.out[n] {
			if in[a.To]--; in[a.To] == 0 {
				push(a.To)
			}
		}
	}
	return order
}

// early gives each node the place of the first joint node that needs it, where
// that is before its own.
func (g *Graph) early(r Rank) []int {
	place, order := make([]int, len(g.out)), g.forward()
	for n := range place {
		place[n] = r.Of(n)
	}
	needed := make([]int, len(g.out)) // the lowest place of a joint node from here on
	for n := range needed {
		needed[n] = math.MaxInt
	}
	for _, n := range slices.Backward(order) {
		if r.Together(n) {
			needed[n] = place[n]
		}
		for _, a := range g.out[n] {
			needed[n] = min(needed[n], needed[a.To])
		}
		place[n] = min(place[n], needed[n])
	}
	return place
}

// forward gives the nodes in some order in which every arc points forward.
func (g *Graph) forward() []int {
	in, order := g.incoming(), make([]int, 0, len(g.out))
	for n, c := range in {
		if c == 0 {
			order = append(order, n)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, a := range g.out[order[i]] {
			if in[a.To]--; in[a.To] == 0 {
				order = append(order, a.To)
			}
		}
	}
	return order
}

// pick chooses the queue. A sequence of joint nodes continues while joint nodes are
// ready. A joint node whose turn it is precedes a node that was only moved forward.
func (r Rank) pick(single, joint *queue, last bool) *queue {
	switch {
	case joint.Len() == 0:
		return single
	case single.Len() == 0 || last || joint.less(joint.n[0], single.n[0]) || joint.of(joint.n[0]) < r.Of(single.n[0]):
		return joint
	}
	return single
}

// queue is a heap of nodes by rank, then number.
type queue struct {
	of func(int) int
	n  []int
}

func (q *queue) less(a, b int) bool {
	if x, y := q.of(a), q.of(b); x != y {
		return x < y
	}
	return a < b
}
func (q *queue) Len() int           { return len(q.n) }
func (q *queue) Less(i, j int) bool { return q.less(q.n[i], q.n[j]) }
func (q *queue) Swap(i, j int)      { q.n[i], q.n[j] = q.n[j], q.n[i] }
func (q *queue) Push(x any)         { q.n = append(q.n, x.(int)) }
func (q *queue) Pop() any {
	x := q.n[len(q.n)-1]
	q.n = q.n[:len(q.n)-1]
	return x
}
