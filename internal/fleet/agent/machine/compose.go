package machine

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// composition is the desired content of the host now. It also has the reason for each assigned
// module that does not take part at its assigned bundle.
type composition struct {
	want   fleet.Assignment
	absent []string
	held   map[string]Module
}

// compose returns the next composition; ok is false if there is none.
func (m *core) compose() (c composition, ok bool) {
	if m.Accepted == nil || m.Accepted.Withdrawn != "" || m.fetched != orderOf(m.Accepted) ||
		m.bad == orderOf(m.Accepted) || m.notYet(m.Accepted.Root) || m.closed() != "" {
		return m.standing()
	}
	c = composition{want: *m.Accepted, absent: slices.Clone(m.Accepted.Withheld), held: map[string]Module{}}
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

// standing returns the applied composition.
func (m *core) standing() (c composition, ok bool) {
	if m.Applied == nil {
		return composition{}, false
	}
	c = composition{want: *m.Applied, absent: m.Absent, held: map[string]Module{}}
	if m.Accepted == nil {
		return c, true
	}
	for i, as := range m.Accepted.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle == as.Bundle {
			continue
		}
		s := Module{State: fleet.ModulePending, WaitsFor: "its content"}
		switch {
		case m.Accepted.Withdrawn != "":
			s = Module{State: fleet.ModuleFrozen, WaitsFor: m.Accepted.Withdrawn}
		case m.notYet(m.Accepted.Root):
			s = Module{State: fleet.ModuleDeferred, WaitsFor: notBefore(m.Accepted.Root)}
		case m.closed() != "":
			s = Module{State: fleet.ModuleDeferred, WaitsFor: m.closed()}
		case m.bad == orderOf(m.Accepted):
			s = Module{State: fleet.ModuleFailed, Error: m.Error}
		}
		c.held[as.Module] = s
	}
	return c, true
}

// holds returns the state with the reason why a module cannot change to its assigned bundle; the
// zero value if it can.
func (m *core) holds(as fleet.Assigned) Module {
	if why := m.frozen(); why != "" {
		return Module{State: fleet.ModuleFrozen, WaitsFor: "frozen: " + why}
	}
	if m.notYet(as) {
		return Module{State: fleet.ModuleDeferred, WaitsFor: notBefore(as)}
	}
	for _, n := range as.Needs {
		if why := m.lacks(n, map[string]bool{as.Module: true}); why != "" {
			return Module{State: fleet.ModuleBlocked, WaitsFor: why}
		}
	}
	if s := m.Modules[as.Module]; s.FailedBundle == as.Bundle.Digest {
		return Module{State: fleet.ModuleFailed, Error: s.Error}
	}
	return Module{}
}

func (m *core) notYet(as fleet.Assigned) bool {
	return m.now.Wall/int64(time.Second) < as.NotBefore
}

func notBefore(as fleet.Assigned) string {
	return "not before " + time.Unix(as.NotBefore, 0).UTC().Format(time.RFC3339)
}

// lacks returns the reason why a need is not met, "" if it is met. A module is available only if
// its own needs are met too. seen contains the modules on the current path, and stops at cycles.
func (m *core) lacks(n fleet.Need, seen map[string]bool) string {
	says := func(text string) string {
		if n.Layer {
			return n.Module + ", the layer module that all others need, " + text
		}
		return n.Module + " " + text
	}
	if seen[n.Module] {
		return says("is part of a cycle of needs")
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
		return says("is not at the assigned revision (" + orPending(s) + ")")
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

// available reports whether the applied bundle of a module has no drift and successful checks, even
// if a different bundle is assigned.
func (m *core) available(module string) bool {
	s := m.Modules[module]
	return s.Drift == 0 && !s.Inconsistent && s.DeferredValues == ""
}

func orPending(s Module) string {
	text := string(s.State)
	if text == "" {
		text = string(fleet.ModulePending)
	}
	if s.WaitsFor != "" {
		text += ": " + s.WaitsFor
	}
	return text
}

// frozen returns the reason why no change is allowed, "" if changes are allowed.
func (m *core) frozen() string {
	if m.localFreeze == "" && m.Accepted != nil {
		return m.Accepted.Frozen
	}
	return m.localFreeze
}

// waitsForTime reports whether a module waits for a time of the wall clock.
func (m *core) waitsForTime() bool {
	if m.Accepted == nil {
		return false
	}
	if m.notYet(m.Accepted.Root) {
		return true
	}
	for i, as := range m.Accepted.Modules {
		if have, _ := m.applied(i, as.Module); have.Bundle != as.Bundle && m.notYet(as) {
			return true
		}
	}
	return false
}

// given returns the values of other targets that are used now.
func (m *core) given() []exported.Table {
	if m.PreviousValues == nil {
		return m.Accepted.Exported
	}
	out := slices.Clone(m.Accepted.Exported)
	for i, t := range out {
		for _, old := range m.PreviousValues {
			if old.Module != t.Module || old.Output != t.Output || string(old.Type) != string(t.Type) {
				continue
			}
			values := slices.Clone(t.Values)
			for _, v := range old.Values {
				if !slices.ContainsFunc(t.Values, func(w exported.Value) bool { return w.Key() == v.Key() }) {
					values = append(values, v)
				}
			}
			out[i].Values = values
		}
	}
	exported.Sort(out)
	return out
}
