package step

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// Change is one address at which two lists differ. Old is nil for an added step, New for a removed
// one; both are set for a changed step.
type Change struct {
	Addr addr.Addr
	Old  *Step
	New  *Step
}

// Diff compares two lists by address. Steps are equal if their canonical text is equal, with their locks. The digest
// of content counts, but neither the path that it was read from nor the position in the list. The
// n-th occurrence of an ACT is compared with its n-th occurrence in the other list.
//
// Removed steps are first, in the reverse order of old, as they are undone. Added and changed steps
// follow in the order of new. The result is empty if there are no changes.
func Diff(old, new List) []Change { return diffWhole(narrowed(old, new)) }

func diffWhole(old, new List) []Change {
	before, after := index(old), index(new)
	var out []Change
	for i := range slices.Backward(old) {
		if _, stays := after.at[before.keys[i]]; !stays {
			out = append(out, Change{Addr: before.keys[i].addr, Old: &old[i]})
		}
	}
	for i := range new {
		j, was := before.at[after.keys[i]]
		switch {
		case !was:
			out = append(out, Change{Addr: after.keys[i].addr, New: &new[i]})
		case old[j].String() != new[i].String():
			out = append(out, Change{Addr: after.keys[i].addr, Old: &old[j], New: &new[i]})
		}
	}
	return out
}

// narrowed removes the common beginning and the common end of two lists. After a small change,
// these are most of the lists. The difference of the rest is the same: an end is removed only if
// its repeated addresses occur equally often in both remaining lists.
func narrowed(old, new List) (List, List) {
	for len(old) > 0 && len(new) > 0 && old[0].String() == new[0].String() {
		old, new = old[1:], new[1:]
	}
	a, b := len(old), len(new)
	for a > 0 && b > 0 && old[a-1].String() == new[b-1].String() {
		a, b = a-1, b-1
	}
	more := map[addr.Addr]int{} // by address: how much more often it occurs in the middle of old
	for _, s := range old[:a] {
		more[identity(s)]++
	}
	for _, s := range new[:b] {
		more[identity(s)]--
	}
	maps.DeleteFunc(more, func(_ addr.Addr, n int) bool { return n == 0 })
	if len(more) > 0 && slices.ContainsFunc(old[a:], func(s Step) bool { return more[identity(s)] != 0 }) {
		return old, new
	}
	return old[:a], new[:b]
}

// occurrence identifies a step of a list: its address, and the number of steps with the same
// address before it.
type occurrence struct {
	addr addr.Addr
	n    int
}

type occurrences struct {
	keys []occurrence       // by place in the list
	at   map[occurrence]int // the other way
}

func index(l List) occurrences {
	x := occurrences{keys: make([]occurrence, len(l)), at: make(map[occurrence]int, len(l))}
	seen := make(map[addr.Addr]int, len(l))
	for i := range l {
		a := identity(l[i])
		key := occurrence{addr: a, n: seen[a]}
		seen[a]++
		x.keys[i], x.at[key] = key, i
	}
	return x
}

// identity returns the step's address. An INCLUDE has no address and is identified by its text.
func identity(s Step) addr.Addr {
	if a := s.Addr(); a != "" {
		return a
	}
	return addr.Addr(s.String())
}

// FormatDiff prints each step as it was written, after + or - without a blank. A changed step is
// its old line and then its new one.
func FormatDiff(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		if c.Old != nil {
			b.WriteString("-" + c.Old.Text() + "\n")
		}
		if c.New != nil {
			b.WriteString("+" + c.New.Text() + "\n")
		}
	}
	return b.String()
}

// Text returns the step as its author wrote it, or in canonical form if no author wrote it.
func (s Step) Text() string {
	if s.Written != "" {
		return s.Written
	}
	return s.String()
}
