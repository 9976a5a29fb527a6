package push

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// others returns the targets for which a target waits, and how many of them must be ready. All modules of a target are
// applied together, so a target does not wait for itself.
func (a After) others(name string) (on []string, least int) {
	if !slices.Contains(a.Waiting, name) {
		return nil, 0
	}
	on = slices.DeleteFunc(slices.Clone(a.On), func(n string) bool { return n == name })
	return on, max(0, a.Least-(len(a.On)-len(on)))
}

// Impossible returns why a workstation cannot honour the dependences of an order, or "".
func (o Order) Impossible() string {
	for _, a := range o.Afters {
		for _, name := range a.Waiting {
			if on, least := a.others(name); len(on) < least {
				return fmt.Sprintf("%s waits until %s is ready on %d other targets, and the command selects %d of them", name,
					a.Module, least, len(on))
			}
		}
	}
	if _, cycle := o.stages(); len(cycle) > 0 {
		return fmt.Sprintf("the targets %s wait for each other, because all modules of a target are applied together",
			strings.Join(cycle, ", "))
	}
	return ""
}

// stages returns the stage of each target: 0, or 1 more than the targets for which it waits. cycle contains targets
// that wait for each other, or for such targets.
func (o Order) stages() (stages map[string]int, cycle []string) {
	stages = map[string]int{}
	for round := 0; round <= len(o.Targets); round++ {
		cycle = nil
		for _, a := range o.Afters {
			for _, name := range a.Waiting {
				on, least := a.others(name)
				for _, n := range on {
					if least > 0 && stages[name] <= stages[n] {
						stages[name] = stages[n] + 1
						cycle = append(cycle, name)
					}
				}
			}
		}
		if len(cycle) == 0 {
			return stages, nil
		}
	}
	slices.Sort(cycle)
	return nil, slices.Compact(cycle)
}

// strategy returns the strategy with the waves of each stage, one stage after another.
func (m *Machine) strategy() rollout.Strategy {
	s := m.order.Strategy
	stages, cycle := m.order.stages()
	if len(stages) == 0 || len(cycle) > 0 {
		return s
	}
	scopes := map[int]map[rollout.ID]bool{}
	last := 0
	for id := range m.targets {
		stage := stages[string(id)]
		if last = max(last, stage); scopes[stage] == nil {
			scopes[stage] = map[rollout.ID]bool{}
		}
		scopes[stage][id] = true
	}
	s.Waves = nil
	for stage := range last + 1 {
		s.Waves = append(s.Waves, ofStage(m.order.Strategy.Waves, scopes[stage], stage)...)
	}
	return s
}

// ofStage returns the waves of a stage. The last one has all members that no wave of the strategy selects.
func ofStage(rules []rollout.WaveRule, scope map[rollout.ID]bool, stage int) (out []rollout.WaveRule) {
	rules = append(slices.Clone(rules), rollout.WaveRule{Name: "others",
		MaxUnavailable: rollout.Amount{Number: 25, Percent: true}})
	for _, w := range rules {
		if w.Scope = scope; stage > 0 {
			w.Name = fmt.Sprintf("%s of stage %d", w.Name, stage+1)
		}
		out = append(out, w)
	}
	return out
}

// awaits returns the reason why a target must wait for modules on other targets, or "".
func (m *Machine) awaits(name string) string {
	for _, a := range m.order.Afters {
		on, least := a.others(name)
		ready, first := 0, ""
		for _, n := range on {
			if m.targets[rollout.ID(n)].ready() {
				ready++
			} else if first == "" {
				first = n
			}
		}
		if ready < least {
			return fmt.Sprintf("it waits for %s: the module is ready on %d of %d other targets, and must be on %d; for "+
				"example %s is not ready", a.Module, ready, len(on), least, first)
		}
	}
	return ""
}

// AllWait returns a reason if no rollout has begun because all targets that need the content wait for other targets.
// Otherwise it returns "". It must be called after Next.
func (m *Machine) AllWait() (why string) {
	if m.Rollout() != nil || !m.tried() {
		return ""
	}
	for _, name := range m.order.Targets {
		if !m.targets[rollout.ID(name)].changes {
			continue
		}
		reason := m.awaits(name)
		if reason == "" {
			return ""
		}
		if why == "" {
			why = name + ": " + reason
		}
	}
	return why
}
