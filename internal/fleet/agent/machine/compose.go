package machine

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// composition is what the machine should be made into now, and for each assigned module
// that does not take part at its assigned bundle, why.
type composition struct {
	want   fleet.Assignment
	absent []string
	held   map[string]Module
}

// compose gives it; ok is false while there is nothing to make.
func (m *Machine) compose() (c composition, ok bool) {
	if m.Accepted == nil || m.Accepted.Withdrawn != "" || m.fetched != orderOf(m.Accepted) || m.bad == orderOf(m.Accepted) || m.notYet(m.Accepted.Top) {
		return m.standing()
	}
	c = composition{want: *m.Accepted, held: map[string]Module{}}
	c.want.Modules = make([]fleet.Assigned, 0, len(m.Accepted.Modules))
	c.want.Exported = m.given()
	for i, as := range m.Accepted.Modules {
		have, had := m.applied(i, as.Module)
		why := m.holds(as)
		switch {
		case have.Bundle == as.Bundle || why.State == "":
			c.want.Modules = append(c.want.Modules, as)
		case had:
			c.held[as.Module] = why
			c.want.Modules = append(c.want.Modules, have)
		default:
			c.held[as.Module] = why
			c.absent = append(c.absent, as.Module)
		}
	}
	slices.Sort(c.absent)
	return c, true
}

// standing is the composition that is in force.
func (m *Machine) standing() (c composition, ok bool) {
	if m.Good == nil {
		return composition{}, false
	}
	c = composition{want: *m.Good, absent: m.Absent, held: map[string]Module{}}
	if m.Accepted == nil {
		return c, true
	}
	for i, as := range m.Accepted.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle == as.Bundle {
			continue
		}
		s := Module{State: fleet.ModulePending, Waits: "its content"}
		switch {
		case m.Accepted.Withdrawn != "":
			s = Module{State: fleet.ModuleFrozen, Waits: m.Accepted.Withdrawn}
		case m.notYet(m.Accepted.Top):
			s = Module{State: fleet.ModuleDeferred, Waits: notBefore(m.Accepted.Top)}
		case m.bad == orderOf(m.Accepted):
			s = Module{State: fleet.ModuleFailed, Error: m.Trouble}
		}
		c.held[as.Module] = s
	}
	return c, true
}

// applied is the bundle of a module that stands on the machine; near is where it is in
// what was accepted, or 0.
func (m *Machine) applied(near int, module string) (fleet.Assigned, bool) {
	return find(m.Good, near, module)
}

// find gives a module of an assignment; nil has none. It is asked for each module at each
// step, and goes along the list, without copying it, only where the module is not where it is
// looked for first.
func find(a *fleet.Assignment, near int, module string) (fleet.Assigned, bool) {
	if a == nil {
		return fleet.Assigned{}, false
	}
	if near < len(a.Modules) && a.Modules[near].Module == module {
		return a.Modules[near], true
	}
	for i := range a.Modules {
		if a.Modules[i].Module == module {
			return a.Modules[i], true
		}
	}
	return fleet.Assigned{}, false
}

// holds says why a module may not go on to its assigned bundle; the zero value when it
// may.
func (m *Machine) holds(as fleet.Assigned) Module {
	if why := m.frozen(); why != "" {
		return Module{State: fleet.ModuleFrozen, Waits: "frozen: " + why}
	}
	if m.notYet(as) {
		return Module{State: fleet.ModuleDeferred, Waits: notBefore(as)}
	}
	for _, n := range as.Needs {
		if why := m.lacks(n, map[string]bool{as.Module: true}); why != "" {
			return Module{State: fleet.ModuleBlocked, Waits: why}
		}
	}
	if s := m.Modules[as.Module]; s.Failed == as.Bundle.Digest {
		return Module{State: fleet.ModuleFailed, Error: s.Error}
	}
	return Module{}
}

func (m *Machine) notYet(as fleet.Assigned) bool {
	return as.NotBefore > 0 && m.now.Wall/int64(time.Second) < as.NotBefore
}

func notBefore(as fleet.Assigned) string {
	return "not before " + time.Unix(as.NotBefore, 0).UTC().Format(time.RFC3339)
}

// lacks says in what a need is not met, "" where it is. A module is available only if
// what it needs itself is; seen are those on the way, for an assignment that goes round.
func (m *Machine) lacks(n fleet.Need, seen map[string]bool) string {
	says := func(text string) string {
		if n.Layer {
			return n.Module + ", which all others stand on, " + text
		}
		return n.Module + " " + text
	}
	if seen[n.Module] {
		return says("needs it in turn")
	}
	as, ok := m.assigned(0, n.Module)
	if !ok {
		return says("is not assigned")
	}
	have, applied := m.applied(0, n.Module)
	s := m.Modules[n.Module]
	switch {
	case !applied:
		return says("is not applied yet (" + orPending(s) + ")")
	case n.Level == fleet.Completed:
		return ""
	case n.Level == fleet.Exact && have.Bundle != as.Bundle:
		return says("is not at the revision that is assigned (" + orPending(s) + ")")
	case !m.available(n.Module):
		return says("is not available (" + orPending(s) + ")")
	}
	seen[n.Module] = true
	defer delete(seen, n.Module)
	for _, further := range as.Needs {
		if why := m.lacks(further, seen); why != "" {
			return says("waits: " + why)
		}
	}
	return ""
}

// available tells whether what stands of a module is as applied and its checks hold,
// whether or not it is on its way to another bundle.
func (m *Machine) available(module string) bool {
	s := m.Modules[module]
	return s.Drift == 0 && !s.Bad && s.Held == ""
}

func orPending(s Module) string {
	text := string(s.State)
	if text == "" {
		text = string(fleet.ModulePending)
	}
	if s.Waits != "" {
		text += ": " + s.Waits
	}
	return text
}

func (m *Machine) assigned(near int, module string) (fleet.Assigned, bool) {
	return find(m.Accepted, near, module)
}

// frozen is why nothing may be changed, "" when it may.
func (m *Machine) frozen() string {
	if m.localFreeze == "" && m.Accepted != nil {
		return m.Accepted.Frozen
	}
	return m.localFreeze
}

// waitsForTime tells whether a module is held until a moment of the wall clock.
func (m *Machine) waitsForTime() bool {
	if m.Accepted == nil {
		return false
	}
	if m.notYet(m.Accepted.Top) {
		return true
	}
	for i, as := range m.Accepted.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle != as.Bundle && m.notYet(as) {
			return true
		}
	}
	return false
}
