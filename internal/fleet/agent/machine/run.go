package machine

import (
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// next begins what is due and may be begun.
func (m *Machine) next() {
	m.poll()
	m.fetch()
	m.carried()
	if m.frost != "" && m.isDue(thawTimer) {
		m.due[thawTimer] = m.now.Mono + thawAgain
		m.do(Thaw{})
	}
	if m.bad != (order{}) && m.isDue(badTimer) {
		m.bad = order{}
	}
	m.program()
	m.act()
	if m.leave() || m.running != nil || m.isActing() {
		return
	}
	c, ok := m.compose()
	if ok && m.isDue(lockTimer) {
		if cause, by := m.cause(c); cause != "" {
			m.run(c, cause, by)
			return
		}
	}
	m.adopt(c, ok)
	m.settle(c)
}

// adopt takes over what only tells of a composition, where its content stands already.
func (m *Machine) adopt(c composition, ok bool) {
	if ok && m.Good != nil && m.frozen() == "" && alike(&c.want, m.Good) && !m.Good.Same(c.want) {
		m.Good, m.Absent, m.changed = &c.want, c.absent, true
	}
}

// tried tells whether a composition is one that did not go well.
func (m *Machine) tried(c composition) bool { return m.Try.N > 0 && m.Try.Key == keyOf(&c.want) }

// cause is why there should be a run now, "" for no reason.
func (m *Machine) cause(c composition) (cause Cause, by string) {
	frozen := m.frozen() != ""
	fresh := !alike(&c.want, m.Good)
	switch {
	case frozen && (m.touched || m.isDue(sweepTimer) || m.isDue(fullTimer)):
		return Sweep, ""
	case frozen:
		return "", ""
	case m.Apply != "":
		return Asked, m.Apply
	case m.Verify != "":
		return Asked, m.Verify
	case m.tried(c): // it did not go well before
		if m.isDue(retryTimer) {
			return Retry, ""
		}
		if m.touched && (!fresh || m.isDue(coolTimer)) {
			return Noticed, ""
		}
		return "", ""
	case fresh && m.isDue(retryTimer):
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

// run begins a run. That it has begun is durable before, so that one which ends the
// machine again and again is not begun again and again.
func (m *Machine) run(c composition, cause Cause, by string) {
	r := &Run{Want: c.want, Absent: c.absent, Cause: cause, By: by, Full: m.isDue(fullTimer) || m.Verify != "", Look: m.frozen() != "", Checks: cause != Noticed, Up: m.up}
	if cause == Asked && m.Apply != "" {
		m.Try = Try{}
	}
	if !r.Look && (!alike(&c.want, m.Good) || m.tried(c)) {
		m.try(keyOf(&c.want))
		m.applying(c)
	}
	m.settle(c)
	m.touched, m.started, m.running, m.runFor = false, false, r, orderOf(m.Accepted)
	m.set(sweepTimer, m.sweepEvery())
	if r.Full {
		m.set(fullTimer, m.cfg.Full)
	}
	m.do(*r)
}

func (m *Machine) try(key string) {
	if m.Try.Key != key {
		m.Try = Try{Key: key}
	}
	m.Try.N++
	m.Try.Open, m.changed = true, true
}

func (m *Machine) applying(c composition) {
	for i, as := range c.want.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle != as.Bundle {
			s := m.Modules[as.Module]
			m.put(as.Module, Module{State: fleet.ModuleApplying, Drift: s.Drift, Bad: s.Bad, Held: s.Held, Failed: s.Failed})
		}
	}
}

// unapply says of modules that no run is about them any more.
func (m *Machine) unapply(why string) {
	for _, name := range slices.Sorted(maps.Keys(m.Modules)) {
		if s := m.Modules[name]; s.State == fleet.ModuleApplying {
			s.State, s.Waits = fleet.ModulePending, why
			m.put(name, s)
		}
	}
}

func (m *Machine) sweepEvery() time.Duration {
	if m.blind != "" {
		return min(m.cfg.Blind, m.cfg.Sweep)
	}
	return m.cfg.Sweep
}

// ran takes in how a run ended.
func (m *Machine) ran(o Outcome) {
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
		m.frozenBy(o.Error, m.now.Mono+thawAgain)
	case Looked:
		m.drift(r, o)
	default:
		m.ended(r, o)
	}
}

// neverBegan puts things back to before a run, so that it comes again.
func (m *Machine) neverBegan(r *Run, why string) {
	if m.Try.Open {
		m.Try.Open, m.changed = false, true
		if m.Try.N--; m.Try.N == 0 {
			m.Try = Try{}
		}
	}
	m.unapply(why)
	m.started = m.started || r.Cause == Start
	m.touched = m.touched || r.Cause == Noticed || r.Cause == Sweep
}

func (m *Machine) ended(r *Run, o Outcome) {
	if r.Cause == Asked {
		m.changed = m.changed || m.Apply != "" || m.Verify != ""
		m.Verify = ""
		if r.By == m.Apply {
			m.Apply = ""
		}
	}
	if o.Result == Done {
		m.succeeded(r, o)
		return
	}
	m.failed(r, o)
}

func (m *Machine) succeeded(r *Run, o Outcome) {
	fresh := !alike(&r.Want, m.Good)
	tried := m.Try != Try{}
	if fresh || tried || m.Good == nil || m.Good.Newer(r.Want) != 0 {
		m.changed = true
	}
	m.Good, m.Absent, m.Try = &r.Want, r.Absent, Try{}
	m.trouble, m.told = "", fleet.Event{}
	m.exports(o.Exports)
	m.drift(r, o)
	switch {
	case fresh || tried || o.Changes > 0 && o.Repaired == 0:
		m.report(fleet.Event{Kind: fleet.Applied, Run: o.Run, Changes: o.Changes, Text: "generation " + generation(&r.Want)})
	case o.Repaired > 0:
		m.report(fleet.Event{Kind: fleet.Repaired, Run: o.Run, Changes: o.Repaired})
	}
}

// drift takes in what is other than applied, by module, after a run that was not in
// vain: all the others are as they should be.
func (m *Machine) drift(r *Run, o Outcome) {
	news := ""
	count := 0
	for i, as := range r.Want.Modules {
		was := m.Modules[as.Module]
		now, d := was, o.Parts[as.Module].Drift
		if o.Result == Done {
			now.Held = o.Parts[as.Module].Waits
		}
		if now.Drift = d; d > 0 && was.Drift != d {
			news = as.Module
		}
		count += d
		if o.Result == Done {
			now.Bad = false
		}
		if full, _ := m.assigned(i, as.Module); full.Bundle == as.Bundle && (o.Result == Done || was.State == fleet.ModuleDrifted || d > 0) {
			now = standsAs(now)
		}
		if now.State == fleet.ModuleBlocked && was.State != now.State {
			m.report(fleet.Event{Kind: fleet.Waiting, Module: as.Module, Text: now.Waits})
		}
		m.put(as.Module, now)
	}
	if news != "" {
		m.report(fleet.Event{Kind: fleet.Drifted, Module: news, Changes: count, Text: o.Error})
	}
}

// standsAs is where a module stands whose assigned bundle is applied.
func standsAs(s Module) Module {
	out := Module{State: fleet.ModuleReady, Since: s.Since, Drift: s.Drift, Bad: s.Bad, Held: s.Held}
	switch {
	case s.Drift > 0:
		out.State = fleet.ModuleDrifted
	case s.Held != "":
		out.State, out.Waits = fleet.ModuleBlocked, s.Held
	}
	return out
}

// drifted tells of drift before it is repaired.
func (m *Machine) drifted(e Drifted) {
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
