package step

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
)

// Change is one address at which two lists differ. Old is nil for a step that
// came, New for one that went; both stand for a step that changed.
type Change struct {
	Addr addr.Addr
	Old  *Step
	New  *Step
}

// Diff compares two lists by address. Steps are the same when their canonical
// text is: a digest counts, not the path it was read from, and neither does
// the place in the list. An ACT that stands more than once is compared with the
// one of the same count.
//
// What went comes first, in the reverse order of old, as it is taken back. What
// came and what changed follows in the order of new. The result is empty
// when nothing is to be done.
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
		case !old[j].Same(new[i]):
			out = append(out, Change{Addr: after.keys[i].addr, Old: &old[j], New: &new[i]})
		}
	}
	return out
}

// narrowed takes the same beginning and the same end off two lists, which is most
// of them where little was changed. What is left has the same difference: an end
// is taken off only where it does not matter which of the steps of an address that
// stands more than once are in it.
func narrowed(old, new List) (List, List) {
	for len(old) > 0 && len(new) > 0 && old[0].Same(new[0]) {
		old, new = old[1:], new[1:]
	}
	a, b := len(old), len(new)
	for a > 0 && b > 0 && old[a-1].Same(new[b-1]) {
		a, b = a-1, b-1
	}
	more := map[addr.Addr]int{} // in one of the middles than in the other
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

// occurrence names a step of a list: its address, and how many of the same
// stand before it.
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

// identity is the step's address; an INCLUDE, which has none, goes by its text.
func identity(s Step) addr.Addr {
	if a := s.Addr(); a != "" {
		return a
	}
	return addr.Addr(s.String())
}

// FormatDiff prints each step as it was written, behind + or - without a
// blank. A changed step is its old line and then its new one.
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

// Text is the step as its author wrote it, or in canonical form when no
// person wrote it.
func (s Step) Text() string {
	if s.Written != "" {
		return s.Written
	}
	return s.String()
}
