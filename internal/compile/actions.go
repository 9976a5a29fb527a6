package compile

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// actions creates a deferred action for each notified action, and an immediate action for each
// notifier that requests it.
func (b *builder) actions() {
	type key struct {
		to     int
		name   string
		behind int
		phase  int
		block  int
	}
	byKey := map[key]*act{}
	for _, t := range b.c.Triggers {
		for _, from := range b.c.Members(t.From) {
			if b.finds[from] && len(b.of[from])+len(b.found[from]) == 0 {
				continue // the state that does its step triggers instead
			}
			k := key{t.To, t.Action, -1, 1, -1}
			if t.Rescue {
				k.block = t.From
			}
			if t.Immediate && !t.Rescue {
				k.behind = from
			} else if len(b.again) > 0 {
				k.phase = b.phaseOf(from)
			}
			a := byKey[k]
			if a == nil {
				a = b.newAct(t.To, t.Action, k.behind)
				if a == nil {
					continue
				}
				a.phase, a.block, byKey[k] = k.phase, k.block, a
			}
			if t.Failure {
				a.failure = append(a.failure, from)
			} else {
				a.on = append(a.on, from)
			}
		}
	}
	if b.actionCircles() {
		return
	}
	for _, a := range b.acts {
		if a.item >= 0 {
			b.place(a)
			b.beforeNext(a)
		} else {
			b.ahead(a, b.ran(a.behind))
		}
	}
}

func (b *builder) newAct(to int, name string, behind int) *act {
	node := b.c.Nodes[to]
	a := &act{to: to, name: name, behind: behind, item: -1, block: -1}
	for _, k := range node.Kind.Actions {
		if k.Name == name {
			s, ds := k.Act(node.State)
			b.report(node, ds)
			if ds.HasErrors() {
				return nil
			}
			a.step = s
		}
	}
	a.step.Source = node.Source
	if behind < 0 {
		a.item = b.add(item{step: a.step, node: to, act: a})
	}
	b.acts = append(b.acts, a)
	return a
}

// place orders a deferred action: after all its triggers and its own state, and before the states
// after its state, except triggers.
func (b *builder) place(a *act) {
	why := a.name + " when notified"
	for _, n := range slices.Concat(a.on, a.failure) {
		for _, i := range b.ran(n) {
			b.arc(i, a.item, catalog.Hard, why, b.c.Nodes[n].Range)
		}
	}
	b.arc(b.last[a.to], a.item, catalog.Hard, why, b.c.Nodes[a.to].Range)
	b.ahead(a, []int{a.item})
}

// ahead orders the states after the state of an action also after the items of the action, except
// its triggers.
func (b *builder) ahead(a *act, items []int) {
	for _, out := range b.g.Out(b.last[a.to]) {
		for _, i := range items {
			if b.items[out.To].act == nil && i != out.To {
				b.auto(i, out.To, catalog.Strong, a.name+" when notified")
			}
		}
	}
}

// ran returns the items after which a state can have changed. This is its last step. A state
// without steps changes through its actions; an immediate action counts with the state that it
// follows.
func (b *builder) ran(n int) []int {
	if !b.onlyActs(n) {
		return []int{b.last[n]}
	}
	if out, ok := b.ranAfter[n]; ok {
		return out
	}
	out := []int{b.last[n]}
	for _, a := range b.acts {
		switch {
		case a.to != n:
		case a.item >= 0:
			out = append(out, a.item)
		default:
			out = append(out, b.ran(a.behind)...)
		}
	}
	slices.Sort(out)
	b.ranAfter[n] = slices.Compact(out)
	return b.ranAfter[n]
}

// finish sets the triggers of an action, in the order of the list.
func (b *builder) finish(a *act, pos map[int]int) (step.Step, bool) {
	on, failure := b.triggers(a.on, pos), b.triggers(a.failure, pos)
	if len(on)+len(failure) == 0 {
		return step.Step{}, false
	}
	var attrs []step.Attr
	for _, x := range on {
		attrs = append(attrs, step.Attr{Key: "on", Value: string(x)})
	}
	for _, x := range failure {
		attrs = append(attrs, step.Attr{Key: "on_failure", Value: string(x)})
	}
	attrs = append(attrs, blocks{b}.rescues(a, failure, pos)...)
	s, err := step.New(a.step.Verb, a.step.Args, append(attrs, a.step.Attrs...)...)
	if err != nil {
		b.ds = append(b.ds, diag.Errorf(b.c.Nodes[a.to].Range, "Impossible step",
			"fettle cannot write the action %s of %s as a step: %v.", a.name, b.c.Nodes[a.to].ID, err))
		return step.Step{}, false
	}
	s.Source = a.step.Source
	return s, true
}

// told reports whether any step of the list triggers an action.
func (b *builder) told(a *act, pos map[int]int) bool {
	if a.told == 0 {
		a.told = -1
		if len(b.triggers(slices.Concat(a.on, a.failure), pos)) > 0 {
			a.told = 1
		}
	}
	return a.told > 0
}

// triggers returns the addresses of states in the order of the list: the addresses of their steps,
// or of their actions if they have no step.
func (b *builder) triggers(states []int, pos map[int]int) []addr.Addr {
	var items []int
	var acts []addr.Addr
	for _, n := range states {
		items = append(append(items, b.of[n]...), b.found[n]...)
		if !b.onlyActs(n) {
			continue
		}
		for _, o := range b.acts {
			switch {
			case o.to != n:
			case o.item >= 0:
				items = append(items, o.item)
			case b.told(o, pos):
				acts = append(acts, o.step.Addr())
			}
		}
	}
	slices.SortFunc(items, func(x, y int) int { return pos[x] - pos[y] })
	var out []addr.Addr
	for _, i := range slices.Compact(items) {
		if a, ok := b.there(i); ok {
			out = append(out, a)
		}
	}
	for _, a := range acts {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return slices.Compact(out)
}
