package machine

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// offered accepts a newer assignment. It refuses older assignments and assignments for other
// targets.
func (m *assignments) offered(e Offered) {
	a := e.Assignment
	has := orderOf(m.Accepted)
	switch {
	case a.Target != m.cfg.Target:
		m.refuse("the assignment is for a different target, " + string(a.Target))
	case m.Accepted == nil || a.Newer(*m.Accepted) > 0:
		m.accept(a, e.Envelope)
	case a.Newer(*m.Accepted) < 0:
		m.refuse(fmt.Sprintf(
			"the assignment %d.%d is older than the accepted assignment %d.%d", a.Epoch, a.Generation, has.epoch,
			has.generation))
	case !a.Same(*m.Accepted):
		m.refuse(fmt.Sprintf("the agent received two different assignments with the number %d.%d", has.epoch, has.generation))
	}
}

func (m *assignments) accept(a fleet.Assignment, envelope []byte) {
	m.exporter.carry(a)
	m.Accepted, m.Envelope, m.changed = &a, envelope, true
	m.refused, m.bad, m.replacing.asked = "", order{}, nil
	m.setTrouble("") // it was about the previous assignment
	keep := map[string]Module{}
	for _, as := range a.Modules {
		if s, ok := m.Modules[as.Module]; ok {
			if s.FailedBundle != as.Bundle.Digest {
				s.FailedBundle = ""
			}
			keep[as.Module] = s
		}
	}
	m.Modules = keep
	m.due[fetchTimer] = m.now.Mono
	m.due[retryTimer] = min(m.due[retryTimer], m.now.Mono) // a newer assignment is tried immediately
	m.failures[fetchTimer] = 0
	m.report(fleet.Event{Kind: fleet.Accepted, Text: m.acceptedText(&a)})
}

func (m *assignments) answered(err string) {
	m.asking = false
	if err != "" {
		m.again(pollTimer, firstFetch, m.cfg.Poll)
		return
	}
	m.failures[pollTimer] = 0
	m.set(pollTimer, m.cfg.Poll)
}

func (m *assignments) poll() {
	if m.up && !m.asking && m.isDue(pollTimer) {
		m.asking = true
		m.do(Ask{m.have()})
	}
}

// mustFetch reports whether bundles of the accepted assignment can be missing.
func (m *assignments) mustFetch() bool {
	return m.Accepted != nil && m.Accepted.Withdrawn == "" && !m.fetching && m.fetched != orderOf(m.Accepted)
}

func (m *assignments) fetch() {
	if m.mustFetch() && m.isDue(fetchTimer) {
		m.fetching = true
		m.do(Fetch{*m.Accepted})
	}
}

func (m *assignments) fetchEnded(e Fetched) {
	m.fetching = false
	o := order{e.Epoch, e.Generation}
	switch {
	case o != orderOf(m.Accepted): // a newer assignment was accepted during the fetch
	case e.Error == "":
		m.fetched, m.failures[fetchTimer] = o, 0
		m.setTrouble("")
		m.do(Retain{m.needed()})
	case e.Refused:
		m.setTrouble(e.Error)
		m.refuse(e.Error)
		m.again(fetchTimer, longest, m.cfg.Sweep)
	default:
		m.fetchFailed(e.Error)
	}
}

// fetchFailed schedules another attempt. It reports the failure only after several attempts,
// because a short absence of the hub is normal.
func (m *assignments) fetchFailed(why string) {
	m.again(fetchTimer, firstFetch, longest)
	if m.failures[fetchTimer] == m.cfg.Tries {
		m.setTrouble(why)
		m.report(fleet.Event{Kind: fleet.Failed, Text: "the agent cannot fetch the content of the assignment", Error: why})
	}
}

// needed returns the digests of the bundles that are assigned, applied, or part of the current run.
func (m *assignments) needed() []string {
	stay := []*fleet.Assignment{m.Accepted, m.Applied}
	if m.running != nil {
		stay = append(stay, &m.running.Want)
	}
	var out []string
	for _, a := range stay {
		if a == nil {
			continue
		}
		for _, as := range slices.Concat([]fleet.Assigned{a.Root}, a.Modules) {
			out = append(out, as.Bundle.Digest)
			if as.Proof != nil {
				out = append(out, as.Proof.Digest)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
