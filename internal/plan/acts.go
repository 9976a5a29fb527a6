package plan

import (
	"fmt"
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
		due := m.stillTold(p)
		if len(cause) == 0 {
			why = "still pending from run " + strconv.Itoa(p.Run)
		}
		cause = union(cause, due)
	}
	if len(cause) == 0 {
		return
	}
	m.acted[a] = true
	note, err := m.without(s)
	if err != nil {
		m.refuse(s, "", err)
		return
	}
	m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Why: why, Cause: cause, Note: note})
}

// without looks whether the host has the program or the unit of an action that will run.
// It is an error if it has not, and no change before the action can provide it. A
// rollback goes by the record, and only says so.
func (m *maker) without(s step.Step) (note string, err error) {
	need := runs(s)
	if need == "" || m.in.Missing == nil || !m.in.Missing(need) {
		return "", nil
	}
	err = missing{need, need.Name()}
	by, _ := m.provider(need)
	switch {
	case by.Addr != "":
		return m.doubt(err), nil
	case m.in.Goal != nil:
		return fmt.Sprintf("there is no %s %q on this host now", noun(need), need.Name()), nil
	}
	return "", err
}

// runs is what an action cannot run without: its program, or the unit that it starts.
func runs(s step.Step) addr.Addr {
	switch {
	case s.Args[0] == "run" && len(s.Args) > 2:
		return program(s, s.Args[2])
	case s.Args[0] == "start" || s.Args[0] == "restart":
		return addr.New(addr.KindUnit, s.Args[1])
	}
	return ""
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

// stillTold are the causes of a pending action without those whose edge was removed from the
// repository since. A run that removed an edge itself still notified the action through it:
// the recorded step has no such edge, and the cause remains. With more of the list to come
// all causes remain.
func (m *maker) stillTold(p journal.PendingAct) []addr.Addr {
	if m.in.More {
		return p.Cause
	}
	then, now := parse(p.Step).All("on"), []string{}
	for _, s := range m.in.Wanted {
		if s.Verb == step.Act && s.Addr() == p.Addr {
			now = append(now, s.All("on")...)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.Cause), func(a addr.Addr) bool {
		return slices.Contains(then, string(a)) && !slices.Contains(now, string(a))
	})
}

// untoldActs drops what is pending and nothing notifies any more: its edge was taken
// out of the repository.
func (m *maker) untoldActs() {
	for _, p := range m.in.Applied.Pending {
		if !m.acted[p.Addr] {
			m.add(Change{Action: Forget, Addr: p.Addr, Step: p.Step, Why: "pending from run " + strconv.Itoa(p.Run) + ", and nothing in the list notifies it any more"})
		}
	}
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
		cause := m.causes(s)
		if len(cause) == 0 {
			continue
		}
		m.acted[a] = true
		m.add(Change{Action: Run, Addr: a, Step: s.String(), Source: s.Source, Cause: cause, Why: "notified by " + names(cause), Stale: true})
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
