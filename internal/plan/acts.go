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

// act plans an action (an ACT step) if a planned change notifies it, or if it is still pending from an
// earlier run.
func (m *actions) act(s step.Step) {
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
	note, err := m.providers.without(s)
	if err != nil {
		m.refusals.refuse(s, "", err)
		return
	}
	m.add(Change{Action: Run, Addr: a, Step: s.Stored(), Source: s.Source, Why: why, Cause: cause, Note: note})
}

// without checks that the host has the program or the unit of an action that will run. It returns an
// error if it is missing and no earlier change can provide it. A rollback executes recorded steps, so
// it only gets a note.
func (m *providers) without(s step.Step) (note string, err error) {
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

// runs returns the address of the program or unit that an action needs, or "".
func runs(s step.Step) addr.Addr {
	switch {
	case s.Args[0] == "run" && len(s.Args) > 2:
		return program(s, s.Args[2])
	case s.Args[0] == "start" || s.Args[0] == "restart":
		return addr.New(addr.KindUnit, s.Args[1])
	}
	return ""
}

func (m *forecast) causes(s step.Step) []addr.Addr {
	var out []addr.Addr
	for _, on := range s.All("on") {
		if a := addr.Addr(on); m.changed[a] {
			out = append(out, a)
		}
	}
	return out
}

func (m *actions) pending(a addr.Addr) (journal.PendingAct, bool) {
	for _, p := range m.in.Applied.Pending {
		if p.Addr == a {
			return p, true
		}
	}
	return journal.PendingAct{}, false
}

// stillTold returns the causes of a pending action whose edge still exists in the repository. If a
// later stage of the list follows, it returns all causes. The run that removes an edge still notifies
// the action through it: the recorded step does not have the edge, and the cause remains.
func (m *actions) stillTold(p journal.PendingAct) []addr.Addr {
	if m.in.MorePhases {
		return p.Cause
	}
	then, now := p.Step.All("on"), []string{}
	for _, s := range m.in.Desired {
		if s.Verb == step.Act && s.Addr() == p.Addr {
			now = append(now, s.All("on")...)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.Cause), func(a addr.Addr) bool {
		return slices.Contains(then, string(a)) && !slices.Contains(now, string(a))
	})
}

// untoldActs forgets pending actions that no state notifies any more, because their edges were removed
// from the repository.
func (m *actions) untoldActs() {
	for _, p := range m.in.Applied.Pending {
		if !m.acted[p.Addr] {
			why := "pending from run " + strconv.Itoa(p.Run) + ", and no state of the list notifies it now"
			m.add(Change{Action: Forget, Addr: p.Addr, Step: p.Step, Why: why})
		}
	}
}

// staleActs plans the actions that only the applied list has, if their causes are removed: the
// programs that use these objects must be notified.
func (m *actions) staleActs() {
	olds := m.in.AppliedList
	for _, p := range m.in.Applied.Pending {
		olds = append(olds[:len(olds):len(olds)], p.Step)
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
		m.add(Change{Action: Run, Addr: a, Step: s.Stored(), Source: s.Source, Cause: cause,
			Why: "notified by " + names(cause), Stale: true})
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
