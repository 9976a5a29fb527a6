package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// announce gives numbers to the reports of a step. All have the status at the end of the step.
func (m *reports) announce() {
	if ready := m.ready(); ready != m.wasReady {
		m.wasReady = ready
		if ready && !m.saysReady() {
			m.report(fleet.Event{Kind: fleet.Ready, Run: m.Run})
		}
	}
	for i, a := range m.actions {
		if ap, ok := a.(Append); ok {
			m.actions[i] = Append{m.number(ap.Report.Event)}
		}
	}
	// Reports precede the other actions, because the driver executes them immediately.
	slices.SortStableFunc(m.actions, func(a, b Action) int { return rank(a) - rank(b) })
}

// zoneChanged reports a new time zone of the host, because hubs use it for windows.
func (m *reports) zoneChanged() {
	if m.zone != nil && *m.zone != m.now.Zone {
		m.report(fleet.Event{Kind: fleet.ReportRequested,
			Text: "the time zone of the host is " + cmp.Or(m.now.Zone, "unknown")})
	}
	zone := m.now.Zone
	m.zone = &zone
}

// placeChanged reports changes of the guests of the host. Hubs get the first place with another report.
func (m *reports) placeChanged() {
	if m.zone != nil && !m.place.Equal(m.now.Place) {
		m.report(fleet.Event{Kind: fleet.ReportRequested, Text: fleet.GuestChanges(m.place, m.now.Place)})
	}
	m.place = m.now.Place
}

// saysReady adds "all is ready" to the event of a run that ended in this step, instead of a
// separate event.
func (m *reports) saysReady() bool {
	for i, a := range m.actions {
		if ap, ok := a.(Append); ok && (ap.Report.Event.Kind == fleet.Applied || ap.Report.Event.Kind == fleet.Repaired) {
			ap.Report.Event.Text = strings.TrimPrefix(ap.Report.Event.Text+", all is ready", ", ")
			m.actions[i] = ap
			return true
		}
	}
	return false
}

func rank(a Action) int {
	if _, ok := a.(Append); ok {
		return 0
	}
	return 1
}

// maxNumber is the highest report number that the agent accepts from a hub.
const maxNumber = 1 << 53

// numberedAt skips the numbers of reports that hubs already have. This happens if the host was
// restored from an old state, or if another host reported as this target. Hubs ignore reports with
// lower numbers. Waiting reports have such numbers and are dropped.
func (m *reports) numberedAt(seq uint64) {
	if seq <= m.seq || seq > maxNumber {
		return
	}
	m.seq, m.acked = seq, seq
	m.report(fleet.Event{Kind: fleet.ReportRequested,
		Text: "hubs have newer reports of this target, from a later state of this host or from another host"})
}

func (m *reports) number(e fleet.Event) fleet.Report {
	if m.seq-m.acked < MaxOutbox {
		m.seq++
	} else {
		e.Text = clip(strings.TrimSpace(e.Text + fmt.Sprintf(
			" (the outbox is full: events between report %d and this one were dropped)", m.seq-1)))
	}
	m.checks.sent = m.checks.results()
	return fleet.Report{Format: fleet.ReportFormat, Target: m.cfg.Target, Seq: m.seq, Boot: m.cfg.Boot, At: m.now.Wall,
		Event: e, Status: m.status()}
}

// status returns the current status of the target.
func (m *reports) status() fleet.Status {
	o := orderOf(m.Accepted)
	s := fleet.Status{
		Epoch: o.epoch, Generation: o.generation, Version: m.cfg.Version, Frozen: m.frozen(),
		Run: m.Run, Changed: m.Changed, LastVerified: m.LastVerified, Error: clip(m.Error), Facts: m.Facts,
		Zone: m.now.Zone, Place: m.now.Place, Checks: m.checks.results(),
	}
	if m.Accepted == nil {
		return s
	}
	s.Modules = make([]fleet.ModuleStatus, 0, len(m.Accepted.Modules))
	most := min(1024, 64<<10/(len(m.Accepted.Modules)+1)) // limits the size of the whole report
	for i := range m.Accepted.Modules {
		as := &m.Accepted.Modules[i]
		have, _ := m.applied(i, as.Module)
		k := m.Modules[as.Module]
		s.Drift += k.Drift
		s.Modules = append(s.Modules, fleet.ModuleStatus{
			Module: as.Module, Commit: have.Revision.Commit, Bundle: have.Bundle.Digest,
			State: m.stateOf(as.Bundle, have.Bundle, k), Since: k.Since, Waits: cut(k.WaitsFor, most), Error: cut(k.Error, most),
		})
	}
	return s
}

// send sends the oldest report that is not acknowledged to a hub.
func (m *reports) send() {
	if !m.up || m.sending || m.acked >= m.seq || !m.isDue(sendTimer) {
		return
	}
	m.sending = true
	m.do(Send{m.acked + 1})
}

func (m *reports) ackedReport(e Acked) {
	m.sending = false
	if e.Error != "" {
		m.again(sendTimer, firstSend, longest)
		return
	}
	m.failures[sendTimer] = 0
	m.binaries.doesWell()
	if m.up {
		m.due[sendTimer] = m.now.Mono
	}
	if e.Seq > m.acked && e.Seq <= m.seq {
		m.acked = e.Seq
		m.do(Drop{e.Seq})
	}
}

// ready reports whether all assigned modules are ready.
func (m *core) ready() bool {
	if m.Accepted == nil || m.Applied == nil || m.Accepted.Withdrawn != "" ||
		m.Applied.Root.Bundle != m.Accepted.Root.Bundle || m.Error != "" || m.Attempts.Count > 0 {
		return false
	}
	for i := range m.Accepted.Modules {
		as := &m.Accepted.Modules[i]
		if have, _ := m.applied(i, as.Module); m.stateOf(as.Bundle, have.Bundle, m.Modules[as.Module]) != fleet.ModuleReady {
			return false
		}
	}
	return true
}

// stateOf returns the state of a module. It is never ready if a different bundle is assigned.
func (m *core) stateOf(want, have fleet.Bundle, k Module) fleet.Readiness {
	if k.State == "" || k.State == fleet.ModuleReady && have != want {
		return fleet.ModulePending
	}
	return k.State
}
