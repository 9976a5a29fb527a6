package rollouts

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
)

// ReadyModules returns the modules on which the strategies of a revision depend, for Fleet.Ready.
func ReadyModules(head assign.Contents) (out []string) {
	for _, s := range head.Strategies {
		for _, a := range s.Afters {
			if !slices.Contains(out, a.Module) {
				out = append(out, a.Module)
			}
		}
	}
	return out
}

// dependences are the dependences on other targets that the head of the branch declares, by strategy.
type dependences map[string][]dependence

// dependence is one dependence and the targets that are not ready for it.
type dependence struct {
	query.StrategyAfter
	missing map[fleet.TargetID]string // names of the targets where the module is not ready
	count   int                       // targets that have the module or must have it
	first   string                    // name of the first missing target
}

func (f Fleet) dependences(all []assign.Desired) dependences {
	out := dependences{}
	var named map[string]assign.Desired
	for _, s := range f.Head.Strategies {
		for _, a := range s.Afters {
			if named == nil {
				named = map[string]assign.Desired{}
				for _, d := range all {
					named[d.Target.Name] = d
				}
			}
			out[s.Name] = append(out[s.Name], f.dependence(a, named))
		}
	}
	return out
}

// dependence counts the targets of a dependence. A target whose desired assignment is unknown counts if it has the
// module.
func (f Fleet) dependence(a query.StrategyAfter, named map[string]assign.Desired) dependence {
	out := dependence{StrategyAfter: a, missing: map[fleet.TargetID]string{}}
	for _, name := range a.Targets {
		d := named[name] // the zero value has no modules
		want := d.Want
		if want == nil {
			want = d.Was
		}
		part, wanted := find(want, a.Module)
		if !wanted {
			continue
		}
		out.count++
		seen := f.Targets[d.Target.ID]
		was, ok := find(d.Was, a.Module)
		if !seen.Connected || !ok || !sameContent(was, part) || !f.Ready[a.Module][d.Target.ID] ||
			health(d.Was, seen) == rollout.Unknown {
			out.missing[d.Target.ID] = name
			if out.first == "" {
				out.first = name
			}
		}
	}
	return out
}

// unmet returns the reason why a target must wait, or "". A target that has failed does not wait for itself: the
// change may be its correction.
func (d dependence) unmet(id fleet.TargetID, h rollout.Health) string {
	ready := d.count - len(d.missing)
	if d.missing[id] != "" && h == rollout.Broken {
		ready++
	}
	least := d.least()
	switch {
	case d.count == 0:
		return fmt.Sprintf("it waits for %s, and no target that the rollout block selects has this module", d.Module)
	case ready < least:
		return fmt.Sprintf(
			"it waits for %s: the module is ready on %d of %d targets, and must be on %d; for example %s is not ready",
			d.Module, ready, d.count, least, d.first)
	}
	return ""
}

// least returns the number of targets that must be ready: at least 1. A number does not decrease if there are fewer
// targets.
func (d dependence) least() int {
	a, err := amount.Parse(d.Ready)
	if err != nil {
		return d.count // the language has checked it
	}
	if a.Percent {
		a.Number = (d.count*a.Number + 99) / 100
	}
	return max(1, a.Number)
}

// waits returns the reasons of a target, by part. A module that needs a waiting module waits, too. This includes
// modules that the target does not have yet: its assignment names them as withheld. parts contains the modules for
// which each part waits.
func (all dependences) waits(d assign.Desired, t rollout.Target) (out map[string]string, parts map[string][]string) {
	afters := all.of(d, t.Lane)
	if d.Want == nil || len(afters) == 0 {
		return nil, nil
	}
	out, parts = map[string]string{}, map[string][]string{}
	for _, a := range afters {
		for _, m := range a.Modules {
			if _, ok := find(d.Want, m); ok && out[m] == "" {
				if why := a.unmet(d.Target.ID, t.Health); why != "" {
					out[m], parts[m] = why, []string{a.Module}
				}
			}
		}
	}
	for before := -1; before != len(out); {
		before = len(out)
		for _, p := range d.Want.Modules {
			for _, n := range p.Needs {
				if out[n.Module] != "" && out[p.Module] == "" {
					out[p.Module] = fmt.Sprintf("it needs %s, for which it waits: %s", n.Module, out[n.Module])
					parts[p.Module] = parts[n.Module]
				}
			}
		}
	}
	return out, parts
}

// of returns the dependences of the strategy in force of a target, and of the strategy that its desired content
// selects.
func (all dependences) of(d assign.Desired, lane string) []dependence {
	_, strategy, _ := strings.Cut(lane, " ")
	if strategy == d.Strategy {
		return all[strategy]
	}
	return slices.Concat(all[strategy], all[d.Strategy])
}
