package machine

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// failed takes in a run that did not succeed.
func (m *Machine) failed(r *Run, o Outcome) {
	m.changed = true
	key := keyOf(&r.Want)
	if m.Try.Key != key { // it went well before, and does not any more
		m.Try = Try{Key: key, N: 1}
	}
	m.Try.Open = false
	if o.Result == CheckFailed || o.Result == Failed && o.Run > 0 && len(culprits(o)) > 0 {
		m.advance(r, o)
	}
	final := m.Try.N >= m.cfg.Tries || o.Result == Broken
	trouble := o.Parts[""].Error
	if trouble == "" && len(culprits(o)) == 0 {
		trouble = o.Error
	}
	m.setTrouble(trouble)
	m.backOff(coolTimer, m.Try.N, firstRetry, longest)
	givenUp := m.judge(r, o, final)
	m.retry(r, o, final, givenUp)
	m.tell(r, o)
}

// setTrouble writes down what is wrong with the whole.
func (m *Machine) setTrouble(text string) {
	if text != m.Trouble {
		m.Trouble, m.changed = text, true
	}
}

// culprits are the modules in which something failed, sorted.
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

// advance takes over into Good what a run that failed has done whole. It is asked only
// where the run says in which modules it failed: otherwise nobody knows what it did.
func (m *Machine) advance(r *Run, o Outcome) {
	good := r.Want
	good.Modules = nil
	if m.Good != nil && o.Result == Failed {
		good = *m.Good
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
	if m.Good != nil || o.Result == CheckFailed || len(good.Modules) > 0 {
		slices.Sort(absent)
		m.Good, m.Absent = &good, absent
	}
}

// judge says where each module stands after a run that failed, and whether one was given
// up.
func (m *Machine) judge(r *Run, o Outcome, final bool) (givenUp bool) {
	for i, as := range r.Want.Modules {
		p, s := o.Parts[as.Module], m.Modules[as.Module]
		have, had := m.applied(i, as.Module)
		isNew := !had || have.Bundle != as.Bundle
		s.Drift = p.Drift
		s.Bad = p.Error != "" && (o.Result == Failed || !isNew)
		full, _ := m.assigned(i, as.Module)
		switch {
		case full.Bundle != as.Bundle: // it is held at an older one, or a newer one came
			if s.State == fleet.ModuleApplying {
				s.State, s.Error, s.Waits = fleet.ModulePending, "", notSoFar(o)
			}
		case p.Error != "":
			s = failing(s, p.Error, final)
			if final && isNew && (o.Undo || o.Result == Broken) {
				s.Failed, givenUp = as.Bundle.Digest, true
			}
		case isNew:
			s.State, s.Error, s.Waits = fleet.ModulePending, "", notSoFar(o)
		default:
			s = standsAs(s)
		}
		m.put(as.Module, s)
	}
	return givenUp
}

func failing(s Module, err string, final bool) Module {
	s.State, s.Waits, s.Error = fleet.ModulePending, "it is tried again", err
	if final {
		s.State, s.Waits = fleet.ModuleFailed, ""
	}
	return s
}

func notSoFar(o Outcome) string {
	if o.Result == RolledBack {
		return "the run was undone"
	}
	return "the run did not come so far"
}

// retry decides when it is tried again. What cannot be compiled and is nobody's fault in
// particular is not: what stands goes on being kept. What failed says nothing of what was
// assigned meanwhile.
func (m *Machine) retry(r *Run, o Outcome, final, givenUp bool) {
	switch {
	case m.superseded(r) || givenUp: // the next composition is another one
		m.due[retryTimer] = m.now.Mono
	case o.Result == Broken && !sameComposition(&r.Want, m.Good):
		m.bad, m.Try = orderOf(m.Accepted), Try{}
		m.set(badTimer, m.cfg.Sweep)
	case final:
		m.set(retryTimer, m.cfg.Sweep)
	default:
		m.backOff(retryTimer, m.Try.N, firstRetry, m.cfg.Sweep)
	}
}

// superseded tells whether there is something else to be made than a run wanted that was
// begun for an older assignment.
func (m *Machine) superseded(r *Run) bool {
	c, ok := m.compose()
	return ok && m.runFor != orderOf(m.Accepted) && !sameComposition(&c.want, &r.Want)
}

func (m *Machine) tell(r *Run, o Outcome) {
	kind := fleet.Failed
	if o.Result == RolledBack {
		kind = fleet.RolledBack
	}
	e := fleet.Event{Kind: kind, Run: o.Run, Changes: o.Changes, Text: m.runText(r), Error: o.Error}
	if names := culprits(o); len(names) > 0 {
		e.Module, e.Error = names[0], o.Parts[names[0]].Error
	}
	same := e
	same.Run = 0
	if same != m.told { // the same again is no transition
		m.told = same
		m.report(e)
	}
}

// recordHeldModules writes down where the modules stand that do not take part as assigned.
func (m *Machine) recordHeldModules(c composition) {
	if m.Accepted == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.held)) {
		s, was := c.held[name], m.Modules[name]
		s.Failed, s.Drift, s.Bad, s.Held = was.Failed, was.Drift, was.Bad, was.Held
		if s.State == fleet.ModuleBlocked && was.State != s.State {
			m.report(fleet.Event{Kind: fleet.Waiting, Module: name, Text: s.Waits})
		}
		m.put(name, s)
	}
	for i, as := range m.Accepted.Modules {
		s, known := m.Modules[as.Module]
		switch have, _ := m.applied(i, as.Module); {
		case !known:
			m.put(as.Module, Module{State: fleet.ModulePending})
		case s.State == fleet.ModuleFailed && !s.Bad && have.Bundle == as.Bundle: // another version failed
			m.put(as.Module, standsAs(s))
		}
	}
}

// put writes down where a module stands. Since is when it came there.
func (m *Machine) put(name string, s Module) {
	was := m.Modules[name]
	s.Since = was.Since
	if was.State != s.State {
		s.Since = m.now.Wall
	}
	if was != s {
		m.Modules[name], m.changed = s, true
	}
}
