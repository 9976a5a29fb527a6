package compile

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/step"
)

// sameNeed combines the step of a state with an item, if one only requires existence and the other
// has more attributes: a package that a kind needs in any version, or a directory without owner,
// group and mode. Otherwise it returns the step unchanged.
func (b *builder) sameNeed(n, i int, s step.Step) step.Step {
	old := b.items[i].step
	switch {
	case s.Verb != old.Verb || s.Absent() || old.Absent():
	case b.needed(n, s):
		return old
	case b.needed(b.items[i].node, old):
		b.items[i].step = s
	}
	return s
}

// needed reports whether a step of a state only requires existence. This is the case for a package
// of a kind that is written in the language.
func (b *builder) needed(n int, s step.Step) bool {
	if s.Verb != step.Pkg || len(s.Attrs) > 0 {
		return s.Verb == step.Mkdir && len(s.Attrs) == 0
	}
	for p := b.c.Nodes[n].Parent; p >= 0; p = b.c.Nodes[p].Parent {
		if b.c.Nodes[p].Defined != "" {
			return true
		}
	}
	return false
}

// ofTwoModules reports whether two states belong to different modules, which are independent of
// each other and can share equal declarations. Within one module, a duplicate is an error. The
// equality of an unknown state proves nothing, because it has substitutes for its values.
func (b *builder) ofTwoModules(m, n int) bool {
	return b.moduleOf(m) != b.moduleOf(n) && !b.c.Nodes[m].Unknown && !b.c.Nodes[n].Unknown
}

// moduleOf returns the group of the module that contains a state, -1 at the top.
func (b *builder) moduleOf(n int) int {
	for b.c.Nodes[n].Parent >= 0 {
		n = b.c.Nodes[n].Parent
	}
	if b.c.Nodes[n].Group && strings.HasPrefix(b.c.Nodes[n].ID, "module.") {
		return n
	}
	return -1
}

// share assigns a step that several states request to the first state that is after no other of
// them. A state that is after another of them finds the step done, because a step cannot be both in
// a group and before it. The remaining states share the step.
func (b *builder) share() {
	if len(b.c.Edges) == 0 {
		return
	}
	for _, i := range slices.Sorted(maps.Keys(b.sharers)) {
		all := append([]int{b.items[i].node}, b.sharers[i]...)
		behind := b.orders.behindAny(all)
		first := slices.IndexFunc(all, func(n int) bool { return !behind[n] })
		if first < 0 {
			continue // they form a cycle, which is reported separately
		}
		if it := &b.items[i]; first > 0 {
			it.node, it.step.Source = all[first], b.c.Nodes[all[first]].Source
		}
		for _, n := range all {
			if behind[n] {
				b.findDone(n, i)
			}
		}
	}
}

// findDone marks an item as already done for a state. A kind that is invoked again for the next
// phase has already reported it.
func (b *builder) findDone(n, i int) {
	b.finds[n] = true
	b.of[n] = slices.DeleteFunc(b.of[n], func(x int) bool { return x == i })
	if _, _, again := b.sameKind(b.items[i].node, n); !again {
		b.found[n] = append(b.found[n], i)
	}
}

// sameKind returns the outermost invocations of one defined kind that contain the two states. ok is
// false if there are none, or if both states are in the same invocation.
func (b *builder) sameKind(earlier, later int) (from, to int, ok bool) {
	around := map[string]int{}
	for n := b.c.Nodes[earlier].Parent; n >= 0; n = b.c.Nodes[n].Parent {
		if d := b.c.Nodes[n].Defined; d != "" {
			around[d] = n
		}
	}
	for n := b.c.Nodes[later].Parent; n >= 0; n = b.c.Nodes[n].Parent {
		if first, both := around[b.c.Nodes[n].Defined]; both && first != n {
			from, to, ok = first, n, true
		}
	}
	return from, to, ok
}
