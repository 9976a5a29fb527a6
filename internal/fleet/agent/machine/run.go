package machine

import (
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// adopt replaces Applied with an assignment of the same content, for example a new number or revision.
// No run is needed.
func (m *runs) adopt(c composition) {
	if m.Applied != nil && m.frozen() == "" && sameComposition(&c.want, m.Applied) && !m.Applied.Same(c.want) {
		m.Applied, m.Absent, m.changed = &c.want, c.absent, true
	}
}

// tried reports whether the last runs of a composition failed.
func (m *runs) tried(c composition) bool {
	return m.Attempts.Count > 0 && m.Attempts.Key == keyOf(&c.want)
}

// cause returns the reason for a run now and the user who ordered it; "" if there is no reason.
func (m *runs) cause(c composition) (cause Cause, by string) {
	frozen := m.frozen() != ""
	fresh := !sameComposition(&c.want, m.Applied)
	switch {
	case frozen && (m.touched || m.isDue(sweepTimer) || m.isDue(fullTimer)):
		return Sweep, ""
	case frozen:
		return "", ""
	case m.ApplyOrderedBy != "":
		return Ordered, m.ApplyOrderedBy
	case m.VerifyOrderedBy != "":
		return Ordered, m.VerifyOrderedBy
	case m.tried(c): // it failed before
		return m.causeAgain(fresh), ""
	case fresh || m.failedSince() || m.unproved(c): // a different composition failed before
		return Assigned, ""
	case m.started:
		return Start, ""
	case m.touched:
		return Noticed, ""
	case m.isDue(sweepTimer) || m.isDue(fullTimer):
		return Sweep, ""
	}
	return "", ""
}

// causeAgain is cause for a composition that failed before. It starts no attempt while the agent
// fetches a newer assignment, because the attempt would delay that assignment.
func (m *runs) causeAgain(fresh bool) Cause {
	switch {
	case m.isDue(retryTimer) && !m.assignments.fetching:
		return Retry
	case m.touched && (!fresh || m.isDue(coolTimer)):
		return Noticed
	}
	return ""
}

// failedSince reports whether a different composition failed after the applied composition was
// verified. Even an undone run can have changed the host.
func (m *runs) failedSince() bool {
	return !m.assignments.fetching && (m.Attempts != Attempts{} || m.Error != "" && m.takesPart())
}

// unproved reports whether a module is applied as assigned, but waited for another assignment meanwhile that was
// not applied. Only a run with checks shows that it is ready.
func (m *runs) unproved(c composition) bool {
	if m.Accepted == nil || !m.takesPart() {
		return false
	}
	for i, as := range m.Accepted.Modules {
		if _, held := c.held[as.Module]; held {
			continue
		}
		s := m.Modules[as.Module]
		if have, _ := m.applied(i, as.Module); have.Bundle == as.Bundle && s.State == fleet.ModulePending && !s.Inconsistent {
			return true
		}
	}
	return false
}

// mustCheck reports whether a run must execute the checks even without changes. A run because of
// changed objects needs them only for a new composition, and at intervals for a failing
// composition. In between it only repairs drift, which is not an attempt.
func (m *runs) mustCheck(c composition, cause Cause) bool {
	return cause != Noticed || !sameComposition(&c.want, m.Applied) || m.tried(c) && m.isDue(coolTimer)
}

// run starts a run. The start is durable before the run begins, so that a run that crashes the host
// is not repeated endlessly.
func (m *runs) run(c composition, cause Cause, by string) {
	r := &Run{Want: c.want, Absent: c.absent, Cause: cause, By: by, Full: m.isDue(fullTimer) || m.VerifyOrderedBy != "",
		Look: m.frozen() != "", Checks: m.mustCheck(c, cause), Up: m.up}
	if cause == Ordered && m.ApplyOrderedBy != "" && m.Attempts != (Attempts{}) {
		m.Attempts, m.changed = Attempts{}, true
	}
	if !r.Look && r.Checks && (!sameComposition(&c.want, m.Applied) || m.tried(c)) {
		m.try(keyOf(&c.want))
		m.applying(c)
	}
	m.recordHeldModules(c)
	m.touched, m.started, m.running, m.runFor = false, false, r, orderOf(m.Accepted)
	m.set(sweepTimer, m.sweepEvery())
	if r.Full {
		m.set(fullTimer, m.cfg.Full)
	}
	m.do(*r)
}

func (m *runs) try(key string) {
	if m.Attempts.Key != key {
		m.Attempts = Attempts{Key: key}
	}
	m.Attempts.Count++
	m.Attempts.Open, m.changed = true, true
}

func (m *runs) applying(c composition) {
	for i, as := range c.want.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle != as.Bundle {
			s := m.Modules[as.Module]
			m.put(as.Module, Module{State: fleet.ModuleApplying, Drift: s.Drift, Inconsistent: s.Inconsistent,
				DeferredValues: s.DeferredValues, FailedBundle: s.FailedBundle})
		}
	}
}

// unapply resets modules in the state applying to pending.
func (m *runs) unapply(why string) {
	for _, name := range slices.Sorted(maps.Keys(m.Modules)) {
		if s := m.Modules[name]; s.State == fleet.ModuleApplying {
			s.State, s.WaitsFor = fleet.ModulePending, why
			m.put(name, s)
		}
	}
}

func (m *runs) sweepEvery() time.Duration {
	if m.blind != "" {
		return min(m.cfg.Blind, m.cfg.Sweep)
	}
	return m.cfg.Sweep
}

// ran handles the end of a run.
func (m *runs) ran(o Outcome) {
	r := m.running
	if r == nil {
		return
	}
	m.running = nil
	if o.Run > 0 && o.Run != m.Run {
		m.Run, m.changed = o.Run, true
	}
	if o.Changes > 0 {
		m.Changed, m.changed = m.now.Wall, true
	}
	if o.Facts != nil && !maps.Equal(o.Facts, m.Facts) {
		m.Facts, m.changed = o.Facts, true
	}
	switch o.Result {
	case Stopped, Locked:
		m.neverBegan(r, o.Error)
		m.due[lockTimer] = m.now.Mono + lockAgain
	case Frozen:
		m.neverBegan(r, o.Error)
		m.frozenBy(o.Error, o.FrozenUntil)
	case Looked:
		m.drift(r, o, false)
	default:
		m.ended(r, o)
	}
}

// neverBegan restores the state from before the run, so that the run is due again.
func (m *runs) neverBegan(r *Run, why string) {
	if m.Attempts.Open {
		m.Attempts.Open, m.changed = false, true
		if m.Attempts.Count--; m.Attempts.Count == 0 {
			m.Attempts = Attempts{}
		}
	}
	m.unapply(why)
	m.started = r.Cause == Start
	m.touched = m.touched || r.Cause == Noticed || r.Cause == Sweep
}

func (m *runs) ended(r *Run, o Outcome) {
	if r.Cause == Ordered {
		m.VerifyOrderedBy, m.changed = "", true
		if r.By == m.ApplyOrderedBy {
			m.ApplyOrderedBy = ""
		}
	}
	switch {
	case o.Result != Done:
		m.failed(r, o)
	case o.Checked || m.proves(r):
		m.succeeded(r, o)
	default:
		m.unchecked(r, o)
	}
}

// proves reports whether a run without checks is sufficient: nothing is new and nothing failed, so
// the last verification is still valid.
func (m *runs) proves(r *Run) bool {
	return sameComposition(&r.Want, m.Applied) && m.Attempts == Attempts{} && m.Error == ""
}

// unchecked handles a successful run without checks. An earlier failure remains, because only the
// checks can show that it is over.
func (m *runs) unchecked(r *Run, o Outcome) {
	m.drift(r, o, false)
	if o.Repaired > 0 {
		m.reportRun(o, fleet.Event{Kind: fleet.Repaired, Changes: o.Repaired})
	}
}

// takesPart reports whether the accepted assignment is applied here. If its content is missing or
// cannot be compiled, Error concerns this assignment and not the applied composition.
func (m *runs) takesPart() bool {
	return m.Accepted == nil || m.Accepted.Withdrawn != "" || m.fetched == orderOf(m.Accepted) &&
		m.bad != orderOf(m.Accepted)
}

func (m *runs) succeeded(r *Run, o Outcome) {
	fresh := !sameComposition(&r.Want, m.Applied)
	tried := m.Attempts != Attempts{}
	if fresh || tried || m.Applied == nil || m.Applied.Newer(r.Want) != 0 {
		m.changed = true
	}
	m.Applied, m.Absent, m.Attempts = &r.Want, r.Absent, Attempts{}
	if n := r.Want.Number(); o.Checked && (m.LastVerified == nil || *m.LastVerified != n) {
		m.LastVerified, m.changed = &n, true
	}
	if m.takesPart() {
		m.setTrouble("")
	}
	m.told = fleet.Event{}
	m.exporter.exports(o.Exports)
	m.drift(r, o, true)
	switch {
	case fresh || tried || o.Changes > 0 && o.Repaired == 0:
		m.reportRun(o, fleet.Event{Kind: fleet.Applied, Changes: o.Changes, Text: m.runText(r)})
	case o.Repaired > 0:
		m.reportRun(o, fleet.Event{Kind: fleet.Repaired, Changes: o.Repaired})
	}
}

// drift records the number of drifted addresses of each module after a run. Modules without an
// entry in Parts have no drift. Unless the run proved it, a module that was not ready does not
// become ready.
func (m *runs) drift(r *Run, o Outcome, proved bool) {
	news := ""
	count := 0
	for i, as := range r.Want.Modules {
		was := m.Modules[as.Module]
		now, d := was, o.Parts[as.Module].Drift
		if o.Result == Done {
			now.DeferredValues = o.Parts[as.Module].Waits
		}
		if now.Drift = d; d > 0 && was.Drift != d {
			news = as.Module
		}
		count += d
		if o.Result == Done && o.Checked {
			now.Inconsistent = false
		}
		if full, _ := m.assigned(i, as.Module); full.Bundle == as.Bundle &&
			(proved || was.State == fleet.ModuleDrifted || d > 0) {
			now = standsAs(now)
		}
		if now.State == fleet.ModuleBlocked && was.State != now.State {
			m.report(fleet.Event{Kind: fleet.Waiting, Module: as.Module, Text: now.WaitsFor})
		}
		m.put(as.Module, now)
	}
	if news != "" {
		m.report(fleet.Event{Kind: fleet.Drifted, Module: news, Changes: count, Text: o.Error})
	}
}

// drifted reports drift before it is repaired.
func (m *runs) drifted(e Drifted) {
	count, first := 0, ""
	for _, name := range slices.Sorted(maps.Keys(e.Modules)) {
		count += e.Modules[name]
		if first == "" {
			first = name
		}
		if s, ok := m.Modules[name]; ok {
			if s.Drift = e.Modules[name]; s.State == fleet.ModuleReady {
				s.State = fleet.ModuleDrifted
			}
			m.put(name, s)
		}
	}
	if count > 0 {
		m.report(fleet.Event{Kind: fleet.Drifted, Module: first, Changes: count, Text: e.Text})
	}
}

// nextRun returns the time of the next run if no event occurs.
func (m *runs) nextRun() time.Duration {
	c, ok := m.compose()
	switch {
	case !ok:
		return never
	case m.frozen() != "":
		return min(m.due[sweepTimer], m.due[fullTimer])
	}
	if cause, _ := m.cause(c); cause != "" { // only lockTimer delays it
		return m.now.Mono
	}
	switch {
	case m.tried(c) && m.assignments.fetching: // the end of the fetch is an event
		return m.whenCool()
	case m.tried(c):
		return min(m.due[retryTimer], m.whenCool())
	}
	return min(m.due[sweepTimer], m.due[fullTimer])
}

// whenCool returns the earliest time at which changed objects cause a run of a failing composition.
func (m *runs) whenCool() time.Duration {
	if m.touched {
		return m.due[coolTimer]
	}
	return never
}
