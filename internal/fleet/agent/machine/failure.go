package machine

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// failed handles a run that did not succeed.
func (m *runs) failed(r *Run, o Outcome) {
	m.changed = true
	key := keyOf(&r.Want)
	if m.Attempts.Key != key { // the composition succeeded before and fails now
		m.Attempts = Attempts{Key: key, Count: 1}
	}
	m.Attempts.Open = false
	if o.Result == CheckFailed || o.Result == Failed && o.Run > 0 && len(culprits(o)) > 0 {
		m.advance(r, o)
	}
	final := m.Attempts.Count >= m.cfg.Tries || o.Result == Broken
	trouble := o.Parts[""].Error
	if trouble == "" && len(culprits(o)) == 0 {
		trouble = o.Error
	}
	m.setTrouble(trouble)
	m.backOff(coolTimer, m.Attempts.Count, firstRetry, longest)
	givenUp := m.judge(r, o, final)
	m.retry(r, o, final, givenUp)
	m.tell(r, o)
}

// culprits returns the modules in which a step or check failed, sorted.
func culprits(o Outcome) []string {
	var out []string
	for name, p := range o.Parts {
		if name != "" && p.Error != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// advance updates Applied with the modules that a failed run applied completely. It must be called
// only if the outcome names the failed modules; otherwise the applied modules are unknown.
func (m *runs) advance(r *Run, o Outcome) {
	good := r.Want
	good.Modules = nil
	if m.Applied != nil && o.Result == Failed {
		good = *m.Applied
		good.Modules = nil
	}
	absent := slices.Clone(r.Absent)
	for i, as := range r.Want.Modules {
		if p := o.Parts[as.Module]; o.Result == CheckFailed || p.Error == "" && p.Left == 0 {
			good.Modules = append(good.Modules, as)
		} else if have, ok := m.applied(i, as.Module); ok {
			good.Modules = append(good.Modules, have)
		} else {
			absent = append(absent, as.Module)
		}
	}
	if m.Applied != nil || o.Result == CheckFailed || len(good.Modules) > 0 {
		slices.Sort(absent)
		m.Applied, m.Absent = &good, absent
	}
}

// judge updates the state of each module after a failed run. It reports whether a bundle was given
// up.
func (m *runs) judge(r *Run, o Outcome, final bool) (givenUp bool) {
	for i, as := range r.Want.Modules {
		p, s := o.Parts[as.Module], m.Modules[as.Module]
		have, had := m.applied(i, as.Module)
		isNew := !had || have.Bundle != as.Bundle
		s.Drift = p.Drift
		s.Inconsistent = p.Error != "" && (o.Result == Failed || !isNew)
		full, _ := m.assigned(i, as.Module)
		switch {
		case full.Bundle != as.Bundle: // it is held at an older bundle, or a newer one was assigned
			if s.State == fleet.ModuleApplying {
				s.State, s.Error, s.WaitsFor = fleet.ModulePending, "", notSoFar(o)
			}
		case p.Error != "":
			s = failing(s, p.Error, final)
			if final && isNew && (o.Undo || o.Result == Broken) {
				s.FailedBundle, givenUp = as.Bundle.Digest, true
			}
		case isNew:
			s.State, s.Error, s.WaitsFor = fleet.ModulePending, "", notSoFar(o)
		default:
			s = standsAs(s)
		}
		m.put(as.Module, s)
	}
	return givenUp
}

func failing(s Module, err string, final bool) Module {
	s.State, s.WaitsFor, s.Error = fleet.ModulePending, "the agent tries again", err
	if final {
		s.State, s.WaitsFor = fleet.ModuleFailed, ""
	}
	return s
}

func notSoFar(o Outcome) string {
	if o.Result == RolledBack {
		return "the run was undone"
	}
	return "the run ended before this module"
}

// retry schedules the next attempt. An assignment that cannot be compiled, without a failing
// module, is tried again only after a long time; meanwhile the applied composition is maintained. A
// failure does not delay an assignment that was accepted during the run.
func (m *runs) retry(r *Run, o Outcome, final, givenUp bool) {
	switch {
	case m.superseded(r) || givenUp: // the next composition is different
		m.due[retryTimer] = m.now.Mono
	case o.Result == Broken && !sameComposition(&r.Want, m.Applied):
		m.bad, m.Attempts = orderOf(m.Accepted), Attempts{}
		m.set(badTimer, m.cfg.Sweep)
	case final:
		m.set(retryTimer, m.cfg.Sweep)
	default:
		m.backOff(retryTimer, m.Attempts.Count, firstRetry, m.cfg.Sweep)
	}
}

// superseded reports whether a run was started for an older assignment and the current assignment
// needs a different composition.
func (m *runs) superseded(r *Run) bool {
	c, ok := m.compose()
	return ok && m.runFor != orderOf(m.Accepted) && !sameComposition(&c.want, &r.Want)
}

func (m *runs) tell(r *Run, o Outcome) {
	kind := fleet.Failed
	if o.Result == RolledBack {
		kind = fleet.RolledBack
	}
	e := fleet.Event{Kind: kind, Changes: o.Changes, Text: m.runText(r), Error: o.Error}
	if names := culprits(o); len(names) > 0 {
		e.Module, e.Error = names[0], o.Parts[names[0]].Error
	}
	if e != m.told { // a repeated failure is not a new event
		m.told = e
		m.reportRun(o, e)
	}
}

// recordHeldModules updates the state of modules that do not take part at their assigned bundle.
func (m *runs) recordHeldModules(c composition) {
	if m.Accepted == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.held)) {
		s, was := c.held[name], m.Modules[name]
		s.FailedBundle, s.Drift, s.Inconsistent, s.DeferredValues = was.FailedBundle, was.Drift, was.Inconsistent,
			was.DeferredValues
		if s.State == fleet.ModuleBlocked && was.State != s.State {
			m.report(fleet.Event{Kind: fleet.Waiting, Module: name, Text: s.WaitsFor})
		}
		m.put(name, s)
	}
	for i, as := range m.Accepted.Modules {
		s, known := m.Modules[as.Module]
		switch have, _ := m.applied(i, as.Module); {
		case !known:
			m.put(as.Module, Module{State: fleet.ModulePending})
		case s.State == fleet.ModuleFailed && !s.Inconsistent && have.Bundle == as.Bundle: // a different version failed
			m.put(as.Module, standsAs(s))
		}
	}
}

// standsAs returns the state of a module whose assigned bundle is applied.
func standsAs(s Module) Module {
	out := Module{State: fleet.ModuleReady, Since: s.Since, Drift: s.Drift, Inconsistent: s.Inconsistent,
		DeferredValues: s.DeferredValues}
	switch {
	case s.Inconsistent:
		out.State, out.WaitsFor, out.Error = s.State, s.WaitsFor, s.Error
		if s.State != fleet.ModulePending {
			out.State = fleet.ModuleFailed
		}
	case s.Drift > 0:
		out.State = fleet.ModuleDrifted
	case s.DeferredValues != "":
		out.State, out.WaitsFor = fleet.ModuleBlocked, s.DeferredValues
	}
	return out
}
