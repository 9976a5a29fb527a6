package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// readPins collects the pins in force, by target.
func (c *computation) readPins() {
	add := func(id fleet.TargetID, p fleet.Pin) {
		if p.Until != 0 {
			c.at(p.Until)
		}
		if p.Until == 0 || c.in.Now < p.Until {
			c.pinsOf[id] = append(c.pinsOf[id], p)
		}
	}
	c.in.eachPin(add)
	for _, d := range c.all {
		if len(c.pinsOf[d.target.ID]) > 0 {
			c.settlePins(d)
		}
	}
}

// eachPin calls f for all pins of active targets, which need not be in force.
func (in Input) eachPin(f func(fleet.TargetID, fleet.Pin)) {
	active := map[fleet.TargetID]bool{}
	for i := range in.Targets {
		t := &in.Targets[i]
		if t.Standing != fleet.Active {
			continue
		}
		if len(in.Pins)+len(in.Environments) > 0 {
			active[t.ID] = true
		}
		if t.Pin != nil {
			f(t.ID, *t.Pin)
		}
	}
	for _, p := range in.Pins {
		if active[p.Target] {
			f(p.Target, p.Pin)
		}
	}
	for id, e := range EnvironmentsOf(in.environments(), in.Now) {
		if !active[id] {
			continue
		}
		for _, p := range e.pins() {
			f(id, p)
		}
	}
}

// settlePins sorts the pins of a target and keeps one for each module and one for the whole target.
func (c *computation) settlePins(d *decision) {
	pins := c.pinsOf[d.target.ID]
	slices.SortFunc(pins, func(a, b fleet.Pin) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.By, b.By),
			cmp.Compare(a.Until, b.Until), cmp.Compare(a.Reason, b.Reason))
	})
	for i, p := range pins {
		if i > 0 && pins[i-1].Module == p.Module && pins[i-1].Ref != p.Ref {
			what := cmp.Or(p.Module, "the target")
			d.keep(fmt.Sprintf("%s is pinned to %s and to %s", what, pins[i-1].Ref, p.Ref))
			remedy := "Remove one of the pins: fettle target unpin"
			if e := cmp.Or(pins[i-1].Environment, p.Environment); e != "" {
				remedy = "Remove the pin or the environment: fettle target unpin, or fettle environment remove " + e
			}
			a := Alarm{Kind: Conflict, OfTargets: pins[i-1].Environment+p.Environment == "", Organization: d.target.Organization,
				Text: fmt.Sprintf("The assignment of %s does not change, because %s. %s", d.target.Name, d.kept, remedy)}
			c.alarms.addWith(a, d.target.ID)
		}
	}
	d.pins = slices.CompactFunc(slices.Clone(pins), func(a, b fleet.Pin) bool { return a.Module == b.Module })
}

// boundPins blocks new pins above the limit. Pins that are in force already stay.
func (c *computation) boundPins() {
	bound := c.in.MaxPinned
	if bound == 0 {
		bound = max(c.active/20, 3)
	}
	var pinned, fresh []*decision
	for _, d := range c.all {
		if len(d.pins) == 0 {
			continue
		}
		if pinned = append(pinned, d); !d.follows() {
			fresh = append(fresh, d)
		}
	}
	digest := setDigest("pins", ids(pinned))
	if c.approved(digest) {
		return
	}
	for i := max(0, bound-(len(pinned)-len(fresh))); i < len(fresh); i++ {
		fresh[i].keep("too many targets are pinned")
		c.alarms.addWith(Alarm{Kind: TooManyPinned, Digest: digest,
			Text: fmt.Sprintf("%d targets are pinned, and the limit is %d. The new pins wait until other pins are removed, "+
				"or until a user approves this alarm", len(pinned), bound)}, fresh[i].target.ID)
	}
}

// follows reports whether a target already has the assignment of its pins.
func (d *decision) follows() bool {
	if d.was == nil {
		return false
	}
	for _, p := range d.pins {
		at := &d.was.Root
		if p.Module != "" {
			at = find(d.was.Modules, p.Module, 0)
		}
		if at != nil && at.Rollout == PinRollout && at.Revision.Branch == p.Ref {
			return true
		}
	}
	return false
}

// pinned replaces the modules that have their own pin.
func (c *computation) pinned(d *decision, list []fleet.Assigned) (out []fleet.Assigned, why string) {
	own := false
	for _, p := range d.pins {
		if p.Module == "" {
			continue
		}
		i := slices.IndexFunc(list, func(a fleet.Assigned) bool { return a.Module == p.Module })
		if i < 0 {
			c.alarms.addOf(Unresolved, d.target, "The pin of %s on %s has no effect: the target does not have that module.",
				p.Module, d.target.Name)
			continue
		}
		if !own {
			list, own = slices.Clone(list), true
		}
		if list[i], why = c.pinnedModule(d, p, list[i]); why != "" {
			return nil, why
		}
	}
	if own {
		if why = cmp.Or(badNeeds(list), c.versions().unmet(list)); why != "" {
			why = "its pins contradict each other: " + why
			c.alarms.addOf(ConfigurationError, d.target, "The assignment of %s does not change, because %s.", d.target.Name,
				why)
			return nil, why
		}
	}
	return list, ""
}

// versions returns the declarations of all compiled commits.
func (c *computation) versions() Versions {
	if c.declared == nil {
		c.declared = Versions{}
		for _, r := range c.in.Revisions {
			c.declared.Learn(r)
		}
	}
	return c.declared
}

// pinnedModule returns a module at the revision of its pin. Its own needs are those at that
// revision. Needs from layers stay.
func (c *computation) pinnedModule(d *decision, p fleet.Pin, m fleet.Assigned) (fleet.Assigned, string) {
	got, why := c.contents(d, p.Ref)
	if why != "" {
		return m, why
	}
	bundle, ok := got.Bundles[p.Module]
	if !ok {
		why = fmt.Sprintf("the revision %.12s of %s has no %s", got.Revision.Commit, p.Ref, p.Module)
		c.alarms.addOf(NoBundle, d.target, "The assignment of %s does not change: it is pinned, and %s.", d.target.Name, why)
		return m, why
	}
	for _, there := range got.Targets[d.target.Name].Modules {
		if there.Directory == p.Module {
			m.Needs = united(m.Needs, there.Needs)
		}
	}
	m.Revision, m.Bundle, m.Proof, m.Permit, m.Rollout = got.at(p.Ref), bundle, got.proof(p.Module), p.Permit, PinRollout
	return m, ""
}

// badNeeds describes the first error in the needs of a list: a missing module, or a cycle. It
// returns "" if there is none.
func badNeeds(list []fleet.Assigned) string {
	needs := map[string][]fleet.Need{}
	for _, m := range list {
		needs[m.Module] = m.Needs
	}
	state := map[string]int{} // 1: being visited, 2: done
	var way []string
	var walk func(m string) string
	walk = func(m string) string {
		if state[m] == 2 {
			return ""
		}
		if way = append(way, m); state[m] == 1 {
			way = way[slices.Index(way, m):]
			return way[0] + " needs " + strings.Join(way[1:], ", which needs ")
		}
		state[m] = 1
		for _, n := range needs[m] {
			if _, ok := needs[n.Module]; !ok {
				return fmt.Sprintf("%s needs %s, which the target does not have", m, n.Module)
			}
			if why := walk(n.Module); why != "" {
				return why
			}
		}
		state[m] = 2
		way = way[:len(way)-1]
		return ""
	}
	for _, m := range list {
		if why := walk(m.Module); why != "" {
			return why
		}
	}
	return ""
}

// environments returns the environments that have an effect. An environment with the name of a declared one has none.
func (in Input) environments() (out []Environment) {
	if len(in.Environments) == 0 {
		return nil
	}
	declared := in.Revisions[in.Refs[in.Branch].Commit].declares()
	for _, e := range in.Environments {
		if !declared[e.ID()] {
			out = append(out, e)
		}
	}
	return out
}

// declares returns the IDs of the scopes that a commit declares, without environments that operators created.
func (c Contents) declares() map[string]bool {
	out := map[string]bool{}
	for _, s := range c.Scopes.Scopes {
		if !s.Dynamic {
			out[s.ID()] = true
		}
	}
	return out
}

// readEnvironments finds the environments of targets. It raises the alarms about environments in force that have no
// effect on some targets.
func (c *computation) readEnvironments() {
	if len(c.in.Environments) == 0 {
		return
	}
	declared := c.in.Revisions[c.in.Refs[c.in.Branch].Commit].declares()
	c.environmentOf = EnvironmentsOf(c.in.environments(), c.in.Now)
	for _, e := range c.in.Environments {
		if !e.InForce(c.in.Now) {
			continue
		}
		if declared[e.ID()] {
			c.alarms.say(EnvironmentConflict, "The repository declares the environment %[1]s, so the environment %[1]s that "+
				"%[2]s created has no effect. Remove it: fettle environment remove %[1]s", e.Name, e.By)
			continue
		}
		for _, d := range c.all {
			first := c.environmentOf[d.target.ID]
			if slices.Contains(e.Targets, d.target.ID) && first.Name != e.Name && d.target.Standing == fleet.Active {
				c.alarms.add(EnvironmentConflict, d.target.ID, "%s is in the environments %s and %[3]s. The first one counts. "+
					"Remove the other: fettle environment remove %[3]s", d.target.Name, first.Name, e.Name)
			}
		}
	}
}

// outsideTests are the environments in force whose checks targets test from outside, for the declarations of one
// revision: by the name of the target, sorted by the name of the environment.
type outsideTests map[string][]fleet.Environment

// testsFor returns the environments whose checks a target tests from outside, by the declarations of the revision that
// it follows. An environment without an active target has no checks.
func (c *computation) testsFor(ref string, got Contents, target string) []fleet.Environment {
	if len(c.environmentOf) == 0 {
		return nil
	}
	tests, known := c.outside[ref]
	if !known {
		tests = c.outsideTests(got)
		c.outside[ref] = tests
	}
	return tests[target]
}

func (c *computation) outsideTests(got Contents) outsideTests {
	below := map[string][]fleet.Environment{} // by parent
	in := map[string]bool{}
	for _, d := range c.all {
		e, is := c.environmentOf[d.target.ID]
		if !is || in[e.Name] || d.target.Standing != fleet.Active {
			continue
		}
		in[e.Name] = true
		below[e.Parent] = append(below[e.Parent], fleet.Environment{Name: e.Name, Parent: e.Parent, Domain: e.Domain})
	}
	out := outsideTests{}
	for _, s := range got.Scopes.Scopes {
		if s.Kind != EnvironmentKind || s.Dynamic || len(below[s.Name]) == 0 {
			continue
		}
		from := map[string]bool{}
		for _, check := range s.Checks {
			for _, target := range check.From {
				from[target] = from[target] || check.Branches
			}
		}
		for target, tests := range from {
			if tests {
				out[target] = append(out[target], below[s.Name]...)
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b fleet.Environment) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}
