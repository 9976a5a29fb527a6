package compile

import (
	"math"
	"slices"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// The ranks after all declared places.
const (
	lastAction = math.MaxInt32
	lastCheck  = math.MaxInt32 + 1
)

// order returns the order of the graph's steps, without virtual nodes. If no arc decides,
// declaration order does; packages stay together; deferred actions are as late as possible.
func (b *builder) order() []int {
	wanted := b.actionRanks()
	all := b.g.Order(catalog.Rank{
		Of: func(i int) int {
			if r, ok := wanted[i]; ok {
				return r
			}
			if b.items[i].step.Verb == step.Check {
				return lastCheck
			}
			return i
		},
		Together: func(i int) bool { return b.items[i].step.Verb == step.Pkg },
		Free:     func(i int) bool { return b.items[i].virtual },
	})
	return b.sink(slices.DeleteFunc(all, func(i int) bool { return b.items[i].virtual }))
}

// actionRanks returns, for each deferred action, the place of the first item that waits for it.
func (b *builder) actionRanks() map[int]int {
	out := map[int]int{}
	for _, a := range b.acts {
		if a.item < 0 {
			continue
		}
		rank := lastAction
		b.dependents(a.item, func(i int) { rank = min(rank, i) })
		out[a.item] = rank
	}
	return out
}

// dependents calls fn for the steps directly after an item, looking through
// nodes without a step and through actions. Checks do not count.
func (b *builder) dependents(i int, fn func(int)) {
	seen := map[int]bool{}
	var walk func(int)
	walk = func(n int) {
		for _, a := range b.g.Out(n) {
			it := b.items[a.To]
			switch {
			case seen[a.To]:
			case it.virtual || it.act != nil:
				seen[a.To] = true
				walk(a.To)
			case it.step.Verb != step.Check:
				fn(a.To)
			}
		}
	}
	walk(i)
}

// sink moves each deferred action down to just before the first step that
// waits for it.
func (b *builder) sink(order []int) []int {
	acts := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return b.items[i].act == nil })
	for _, item := range slices.Backward(acts) {
		waiting := map[int]bool{}
		b.waiting(item, waiting)
		from := slices.Index(order, item)
		to := from
		for i := from + 1; i < len(order) && !waiting[order[i]] && b.items[order[i]].step.Verb != step.Check; i++ {
			if b.items[order[i]].act == nil { // two actions side by side keep their order
				to = i
			}
		}
		copy(order[from:to], order[from+1:to+1])
		order[to] = item
	}
	return order
}

// waiting collects every step that an item must precede, actions included.
func (b *builder) waiting(i int, out map[int]bool) {
	for _, a := range b.g.Out(i) {
		if out[a.To] {
			continue
		}
		out[a.To] = true
		if b.items[a.To].virtual {
			b.waiting(a.To, out)
		}
	}
}

// result returns the list, with immediate actions directly after their triggers.
func (b *builder) result(order []int) Result {
	pos := make(map[int]int, len(order))
	for p, i := range order {
		pos[i] = p
	}
	w := &writer{b: b, index: make(map[int][]int, len(order))}
	behind := b.immediates(pos)
	for p, i := range order {
		it := b.items[i]
		if it.held {
			continue
		}
		if it.act == nil {
			w.put(it.step, i)
		} else if s, ok := b.finish(it.act, pos); ok {
			w.put(s, i)
			w.immediate(b.behindAct(it.act), pos)
		}
		w.immediate(behind[p], pos)
	}
	return Result{Target: b.c.Target, Policy: b.c.Policy, List: w.list, Blobs: b.usedBlobs(w.list), States: w.infos(),
		FactsUsed: b.c.FactsUsed, Files: b.c.Files, Outputs: b.outputs(), Deferred: blocks{b}.heldStates(),
		Exports: b.c.Exports}
}

// immediates has the immediate actions, by the position that they follow.
func (b *builder) immediates(pos map[int]int) map[int][]*act {
	out := map[int][]*act{}
	for _, a := range b.acts {
		if a.item >= 0 {
			continue
		}
		last := -1
		for _, i := range slices.Concat(b.of[a.behind], b.found[a.behind]) {
			last = max(last, pos[i])
		}
		if last >= 0 {
			out[last] = append(out[last], a)
		}
	}
	return out
}

// behindAct has the immediate actions that follow each execution of an action of a state without
// steps.
func (b *builder) behindAct(ran *act) []*act {
	var out []*act
	for _, a := range b.acts {
		if a.item < 0 && a.behind == ran.to && b.onlyActs(ran.to) {
			out = append(out, a)
		}
	}
	return out
}

func (b *builder) usedBlobs(list step.List) map[string]kind.Blob {
	out := map[string]kind.Blob{}
	for _, s := range list {
		for _, d := range s.Blobs() {
			out[d] = b.blobs[d]
		}
	}
	return out
}

// writer collects the list and which state each step is of.
type writer struct {
	b     *builder
	list  step.List
	nodes []int
	index map[int][]int // catalog node to places in the list
	// immediates counts the immediate actions.
	immediates int
}

// maxImmediate is the maximum number of immediate actions in a list. Their number can double with
// each hop if they notify each other.
const maxImmediate = catalog.MaxStates

func (w *writer) put(s step.Step, i int) {
	w.index[w.b.items[i].node] = append(w.index[w.b.items[i].node], len(w.list))
	w.nodes = append(w.nodes, w.b.items[i].node)
	w.list = append(w.list, w.b.locked(s, append([]int{w.b.items[i].node}, w.b.sharers[i]...)))
}

func (w *writer) putAct(s step.Step, a *act) {
	w.index[a.to] = append(w.index[a.to], len(w.list))
	w.nodes = append(w.nodes, a.to)
	w.list = append(w.list, w.b.locked(s, []int{a.to}))
}

// immediate writes immediate actions, each followed by the actions that it triggers.
func (w *writer) immediate(acts []*act, pos map[int]int) {
	for _, a := range acts {
		if w.immediates++; w.immediates > maxImmediate {
			if w.immediates == maxImmediate+1 {
				w.b.ds = append(w.b.ds, diag.Errorf(w.b.c.Nodes[a.to].Range, "Too many immediate actions",
					"With immediate(…) an action is repeated after each of its notifiers, which makes more than %d steps here. "+
						"Remove immediate from notifications if it is enough that the action runs once.", maxImmediate))
			}
			return
		}
		if s, ok := w.b.finish(a, pos); ok {
			w.putAct(s, a)
			w.immediate(w.b.behindAct(a), pos)
		}
	}
}

// infos returns the states with steps, in the order of the list. A shared step is listed for each
// of its states.
func (w *writer) infos() []StateInfo {
	shared := map[int][]int{}
	for n := range w.b.of {
		for _, i := range slices.Concat(w.b.of[n], w.b.found[n]) {
			if w.b.items[i].node != n {
				shared[w.b.items[i].node] = append(shared[w.b.items[i].node], n)
			}
		}
	}
	var out []StateInfo
	seen, after := map[int]bool{}, newSourceOrder(w.b, w.index).after()
	w.b.ways = map[string][]diag.Range{}
	add := func(n int, steps []int) {
		w.b.ways[w.b.c.Nodes[n].ID] = w.b.c.Nodes[n].Trace
		if !seen[n] {
			seen[n] = true
			out = append(out, StateInfo{ID: w.b.c.Nodes[n].ID, Range: w.b.c.Nodes[n].Range, Steps: steps,
				After: after[n]})
		}
	}
	for _, n := range w.nodes {
		add(n, w.index[n])
		for _, o := range shared[n] {
			add(o, append(slices.Clone(w.index[n]), w.index[o]...))
		}
	}
	return out
}
