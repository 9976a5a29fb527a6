package view

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// sum is what lists of targets show of the modules of one.
type sum struct {
	modules, behind int
	states          int // a bit for each of marks
	failure, waits  string
}

// marks are the states of modules that a list shows, the worst first, and what a target
// is that has such a module.
func marks() []struct {
	module fleet.Readiness
	target document.State
} {
	return []struct {
		module fleet.Readiness
		target document.State
	}{
		{fleet.ModuleFailed, document.Failed}, {fleet.ModuleDrifted, document.Drifted}, {fleet.ModuleHeld, document.Held},
		{fleet.ModuleApplying, document.Applying}, {fleet.ModuleBlocked, document.Blocked}, {fleet.ModulePending, document.Pending},
	}
}

// severity orders the states of modules, the worst first.
func severity(r fleet.Readiness) int {
	for i, m := range marks() {
		if m.module == r {
			return i
		}
	}
	if r == fleet.ModuleReady {
		return len(marks()) + 1
	}
	return len(marks()) // unknown
}

// sumStored counts the modules of one target anew, by what is known of them.
func (t *tx) sumStored(target int64) error {
	had, err := t.rows(target)
	if err != nil {
		return err
	}
	return t.sum(target, had)
}

// sum counts the modules of one target anew. rows are what it says of them.
func (t *tx) sum(target int64, rows map[int64]row) error {
	list, err := t.listOf(target)
	if err != nil {
		return err
	}
	var all []listing
	if list != 0 {
		if all, err = t.listings(list); err != nil {
			return err
		}
	}
	var states []int64
	for _, m := range marks() {
		n, err := t.word(string(m.module))
		if err != nil {
			return err
		}
		states = append(states, n)
	}
	var s sum
	for _, l := range all {
		m := rows[l.module]
		s.add(l.want.behind(m.one()), slices.Index(states, m.state), m.waits, m.failure)
	}
	return t.exec("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?)", target, s.modules, s.behind, s.states, s.failure, s.waits)
}

// one is a revision of a module, in numbers of words.
type one struct{ commit, bundle int64 }

// behind tells whether something else is applied. The same content at another commit is
// the same.
func (want one) behind(have one) bool {
	return want.commit != have.commit && (have.bundle == 0 || want.bundle != have.bundle)
}

// add counts a module. mark is the place of its state among marks, below 0 for none.
func (s *sum) add(behind bool, mark int, waits, failure string) {
	s.modules++
	if behind {
		s.behind++
	}
	if s.waits == "" {
		s.waits = waits
	}
	if s.failure == "" {
		s.failure = failure
	}
	if mark >= 0 {
		s.states |= 1 << mark
	}
}

// known is what a target's state follows from.
type known struct {
	active, reported bool
	silent           bool
	held             bool // frozen, or nothing is given
	failed           bool
	drift            int
	assigned         document.Order
	accepted         document.Order
	behind           int
	states           int
}

// state is the worst that is true of a target.
func (k known) state() document.State {
	has := func(of document.State) bool {
		for i, m := range marks() {
			if m.target == of && k.states&(1<<i) != 0 {
				return true
			}
		}
		return false
	}
	switch {
	case !k.active:
		return document.Outside
	case k.failed || has(document.Failed):
		return document.Failed
	case k.reported && k.silent:
		return document.Silent
	case k.drift > 0 || has(document.Drifted):
		return document.Drifted
	case !k.reported:
		return document.Unknown
	case k.held || has(document.Held):
		return document.Held
	case has(document.Applying):
		return document.Applying
	case has(document.Blocked):
		return document.Blocked
	case k.assigned == document.Order{}:
		return document.Unassigned
	case k.accepted != k.assigned || k.behind > 0 || has(document.Pending):
		return document.Pending
	}
	return document.Ready
}
