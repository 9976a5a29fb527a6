package machine

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// requested takes a request, once for each ID, and acknowledges it. That it was taken,
// and what is owed for it, is durable before.
func (m *Machine) requested(d fleet.Do) {
	if slices.Contains(m.Done, d.ID) {
		m.do(Answer{m.asBefore(d)})
		return
	}
	if err := m.owe(d); err != nil {
		m.do(Answer{fleet.Done{ID: d.ID, Error: err.Error()}})
		return
	}
	if d.What == fleet.DoReport && d.Arg == fleet.Whole { // asked by hubs, and as good twice: others are to be remembered
		m.do(Answer{fleet.Done{ID: d.ID}})
		return
	}
	m.Done = append(m.Done, d.ID)
	m.Done = m.Done[max(0, len(m.Done)-maxDone):]
	m.changed = true
	m.do(Answer{fleet.Done{ID: d.ID, Taken: d.What == fleet.DoRun}})
}

func (m *Machine) owe(d fleet.Do) error {
	by := d.By
	if by == "" {
		by = "a hub"
	}
	switch d.What {
	case fleet.DoApply:
		m.Apply = by
		m.bad, m.BadProgram = order{}, ""
		for name, s := range m.Modules {
			if s.Failed != "" {
				s.Failed = ""
				m.put(name, s)
			}
		}
	case fleet.DoVerify:
		m.Verify = by
	case fleet.DoReport:
		m.report(fleet.Event{Kind: fleet.Told, Text: "asked by " + by})
	case fleet.DoForget:
		m.due[renewTimer], m.cert.From, m.cert.Until = m.now.Mono, 0, 1
	case fleet.DoRun:
		return m.keep(d)
	case fleet.DoWithdraw:
		m.withdraw(d.Arg)
	default:
		return fmt.Errorf("cannot do %.40q: this agent knows %s, %s, %s, %s and %s", d.What, fleet.DoApply, fleet.DoVerify, fleet.DoReport, fleet.DoRun, fleet.DoForget)
	}
	if (d.What == fleet.DoApply || d.What == fleet.DoVerify) && m.Accepted == nil && m.Good == nil {
		m.Apply, m.Verify = "", ""
		return fmt.Errorf("cannot %s: nothing is assigned to this target yet", d.What)
	}
	return nil
}
