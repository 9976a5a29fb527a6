package plan

import (
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// act plans a lazy action when something that notifies it changes, or when it
// is still pending from an earlier run.
func (m *maker) act(s step.Step) {
	a := s.Addr()
	cause := m.causes(s)
	if !m.acted[a] {
		for _, old := range m.in.AppliedList {
			if old.Verb == step.Act && old.Addr() == a {
				cause = union(cause, m.causes(old))
			}
		}
	}
	why := "notified by " + names(cause)
	if p, ok := m.pending(a); ok && !m.acted[a] {
		if len(cause) == 0 {
			why = "still pending from run " + strconv.Itoa(p.Run)
		}
		cause = union(cause, p.Cause)
	}
	if len(cause) == 0 {
		return
	}
	m.acted[a] = true
	m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Why: why, Cause: cause})
}

func (m *maker) causes(s step.Step) []addr.Addr {
	var out []addr.Addr
	for _, on := range s.All("on") {
		if a := addr.Addr(on); m.changed[a] {
			out = append(out, a)
		}
	}
	return out
}

func (m *maker) pending(a addr.Addr) (journal.PendingAct, bool) {
	for _, p := range m.in.Applied.Pending {
		if p.Addr == a {
			return p, true
		}
	}
	return journal.PendingAct{}, false
}

// staleActs plans actions that only the list in force has: what it made is
// going, and whoever read it has to be told.
func (m *maker) staleActs() {
	olds := m.in.AppliedList
	for _, p := range m.in.Applied.Pending {
		olds = append(olds[:len(olds):len(olds)], parse(p.Step))
	}
	for _, s := range olds {
		a := s.Addr()
		if s.Verb != step.Act || m.wanted[a] || m.acted[a] {
			continue
		}
		cause, why := m.causes(s), ""
		if why = "notified by " + names(cause); len(cause) == 0 {
			p, ok := m.pending(a)
			if !ok {
				continue
			}
			cause, why = p.Cause, "still pending from run "+strconv.Itoa(p.Run)
		}
		m.acted[a] = true
		m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Cause: cause, Why: why, Stale: true})
	}
}

// idleWaits drops the waits of a run that would do nothing else.
func (m *maker) idleWaits() {
	if m.p.Empty() {
		m.p.Changes = slices.DeleteFunc(m.p.Changes, func(c Change) bool { return c.Action == Wait })
	}
}

func (m *maker) checks() {
	for _, s := range m.in.Wanted {
		if s.Verb == step.Check {
			m.add(Change{Action: Verify, Addr: s.Addr(), Step: s.String(), Source: s.Source, Why: "verified after the run"})
		}
	}
}

func union(a, b []addr.Addr) []addr.Addr {
	for _, x := range b {
		if !contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

func contains(l []addr.Addr, a addr.Addr) bool {
	for _, x := range l {
		if x == a {
			return true
		}
	}
	return false
}

func names(l []addr.Addr) string {
	s := make([]string, len(l))
	for i, a := range l {
		s[i] = string(a)
	}
	return strings.Join(s, ", ")
}
