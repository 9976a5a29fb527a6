package view

import (
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

// sums counts the modules of one target anew.
func (t *tx) sum(target int64) error {
	rows, err := t.QueryContext(t.ctx, `
		SELECT p.commit_, p.bundle, COALESCE(m.commit_, 0), COALESCE(m.bundle, 0), COALESCE(w.text, ''), COALESCE(m.waits, ''), COALESCE(m.error, '')
		FROM assigned a JOIN parts p ON p.n = a.part
		LEFT JOIN modules m ON m.target = a.target AND m.module = a.module LEFT JOIN words w ON w.n = m.state
		WHERE a.target = ? ORDER BY a.place`, target)
	if err != nil {
		return err
	}
	defer rows.Close()
	var s sum
	for rows.Next() {
		var want, have one
		var state fleet.Readiness
		var waits, failure string
		if err := rows.Scan(&want.commit, &want.bundle, &have.commit, &have.bundle, &state, &waits, &failure); err != nil {
			return err
		}
		s.add(want.behind(have), state, waits, failure)
	}
	if err := rows.Err(); err != nil {
		return err
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

func (s *sum) add(behind bool, state fleet.Readiness, waits, failure string) {
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
	for i, m := range marks() {
		if m.module == state {
			s.states |= 1 << i
		}
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
	case k.accepted != k.assigned || k.behind > 0 || has(document.Pending):
		return document.Pending
	}
	return document.Ready
}
