package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

func (in Input) enrolled() string {
	if in.Enrolled != "" {
		return in.Enrolled
	}
	return EnrolledDigest(in.Targets)
}

// Needed returns the commits that must be compiled, sorted: commits without Contents, or with
// Contents for other enrolled targets. Until they are compiled, Compute changes no target that
// follows them.
func Needed(in Input) []string {
	digest, refs := in.enrolled(), []string{in.Branch}
	in.eachPin(func(_ fleet.TargetID, p fleet.Pin) {
		if p.Until == 0 || in.Now < p.Until {
			refs = append(refs, p.Ref)
		}
	})
	var out []string
	for _, ref := range refs {
		commit := in.Refs[ref].Commit
		got, ok := in.Revisions[commit]
		if commit != "" && (!ok || got.Error == "" && got.Enrolled != digest) {
			out = append(out, commit)
		}
	}
	for _, r := range in.Replacements {
		for _, commit := range []string{r.Held, r.Commit} {
			found := in.Refs[commit].Commit
			if _, ok := in.Revisions[found]; found != "" && !ok {
				out = append(out, found)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// branch raises the alarm about the fleet's branch.
func (c *computation) branch() {
	if r := c.in.Refs[c.in.Branch]; r.Error != "" || r.Commit == "" {
		c.alarms.say(Unreadable, "The hub cannot read the branch %s, so assignments do not change: %s.", c.in.Branch,
			cmp.Or(r.Error, "the hub has not read it yet"))
	}
}

// contents returns the Contents for a ref. why is the reason why they are unusable, or "".
func (c *computation) contents(d *decision, ref string) (got Contents, why string) {
	found := c.in.Refs[ref]
	if ref != c.in.Branch && (found.Error != "" || found.Commit == "") {
		c.alarms.add(Unresolved, d.target.ID, "Targets are pinned to %s, which cannot be resolved: %s.", ref,
			cmp.Or(found.Error, "the hub has not read it yet"))
	}
	commit := found.Commit
	got, ok := c.in.Revisions[commit]
	switch {
	case commit == "":
		return got, ref + " has no commit"
	case !ok:
		why = "the hub has not read it yet"
	case got.Error != "":
		why = got.Error
	case got.Enrolled != c.digest:
		why = "the hub must read it again, because enrolled targets or their labels have changed"
	}
	if why != "" {
		why = fmt.Sprintf("the revision %.12s of %s cannot be used: %s", commit, ref, why)
		c.alarms.say(Unreadable, "Targets that follow %s keep their assignments: %s.", ref, why)
	}
	return got, why
}

// wanted returns the desired assignment of an active target. why is the obstacle, or "".
func (c *computation) wanted(d *decision) (want fleet.Assignment, why string) {
	t, ref := d.target, c.in.Branch
	if len(d.pins) > 0 && d.pins[0].Module == "" {
		ref = d.pins[0].Ref
	}
	got, why := c.contents(d, ref)
	if why != "" {
		return want, why
	}
	conf, ok := got.Targets[t.Name]
	if !ok {
		conf.Errors = []string{"the repository has no configuration for it"}
	}
	if len(conf.Errors) > 0 {
		mistake := strings.TrimSuffix(conf.Errors[0], ".")
		why = fmt.Sprintf("the commit %.12s has an error for it: %s", got.Revision.Commit, mistake)
		c.alarms.add(ConfigurationError, t.ID,
			"Targets keep their assignments, because the commit %.12s has an error for them: %s.", got.Revision.Commit, mistake)
		return want, why
	}
	modules, why := c.modules(listKey{ref: ref, rollout: rollout(d)}, got, conf)
	if why != "" {
		c.alarms.add(NoBundle, t.ID, "Targets keep their assignments: %s.", why)
		return want, why
	}
	if modules, why = c.pinned(d, modules); why != "" {
		return want, why
	}
	want = fleet.Assignment{Format: fleet.AssignmentFormat, Target: t.ID, Name: t.Name, Labels: conf.Labels,
		Fleet: t.Fleet,
		Root:  c.top(ref, got), Modules: modules}
	if !c.exempt.has(t.ID) {
		d.windows, want.Windows = conf.Windows, c.readable.of(conf.Windows, c.in.Zones[t.ID])
	}
	if want.Root.Rollout = rollout(d); want.Root.Rollout == "" {
		want.Root = replace(c.replacements, c.in.Branch, want.Root, &c.alarms)
	}
	d.permit(&want)
	want.Binary = c.binaryOf[t.ID]
	if e, in := c.environmentOf[t.ID]; in {
		want.Environment = e.ofTarget()
	}
	want.TestsFor = c.testsFor(ref, got, t.Name)
	c.carry(d, &want)
	if want.Exported, why = c.exported(d, ref, got, conf); why != "" {
		return want, why
	}
	return want, ""
}

// top returns the root bundle for all targets that follow a ref, without a rollout.
func (c *computation) top(ref string, got Contents) fleet.Assigned {
	top, known := c.tops[ref]
	if !known {
		top = fleet.Assigned{Revision: got.at(ref), Bundle: got.Root, Proof: got.proof("")}
		c.tops[ref] = top
	}
	return top
}

// permit adds the permit of the pin of the whole target, which allows an older commit.
func (d *decision) permit(want *fleet.Assignment) {
	if rollout(d) != PinRollout || d.pins[0].Permit == "" {
		return
	}
	want.Root.Permit = d.pins[0].Permit
	want.Modules = slices.Clone(want.Modules) // other targets may share it
	for i := range want.Modules {
		if want.Modules[i].Rollout == PinRollout && want.Modules[i].Permit == "" &&
			want.Modules[i].Revision.Commit == want.Root.Revision.Commit {
			want.Modules[i].Permit = d.pins[0].Permit
		}
	}
}

// rollout returns the Rollout of all parts of a target.
func rollout(d *decision) string {
	if len(d.pins) > 0 && d.pins[0].Module == "" {
		return PinRollout
	}
	return ""
}

// modules returns the modules of a target with their bundles. Targets with the same configuration
// share the list.
func (c *computation) modules(key listKey, got Contents, conf Configured) (list []fleet.Assigned, why string) {
	if key.count = len(conf.Modules); key.count > 0 {
		key.first = &conf.Modules[0]
	}
	if list, ok := c.lists[key]; ok {
		return list, ""
	}
	list = make([]fleet.Assigned, 0, len(conf.Modules))
	for _, m := range conf.Modules {
		bundle, ok := got.Bundles[m.Directory]
		if !ok {
			return nil, fmt.Sprintf("the revision %.12s has no bundle of %s", got.Revision.Commit, m.Directory)
		}
		list = append(list, fleet.Assigned{Module: m.Directory, Revision: got.at(key.ref), Bundle: bundle,
			Proof: got.proof(m.Directory), Rollout: key.rollout, Needs: m.Needs})
	}
	if key.rollout == "" && len(c.replacements) > 0 {
		for i := range list {
			list[i] = replace(c.replacements, c.in.Branch, list[i], &c.alarms)
		}
		if why = cmp.Or(badNeeds(list), c.versions().unmet(list)); why != "" {
			return nil, "the rollback of the fleet contradicts the commit: " + why
		}
	}
	c.lists[key] = list
	return list, ""
}

// carry keeps the revisions of unchanged bundles, so a commit that changes nothing for a target
// causes no new assignment. If a module changes, the root bundle gets the new commit even if it is
// unchanged: the assignment belongs to that commit.
func (c *computation) carry(d *decision, want *fleet.Assignment) {
	if d.was == nil || d.was.Withdrawn != "" {
		return
	}
	c.carryModules(d, want)
	if fleet.SameModules(d.was.Modules, want.Modules) {
		want.Root = carried(d.was.Root, want.Root)
	}
}

func (c *computation) carryModules(d *decision, want *fleet.Assignment) {
	if len(want.Modules) == 0 || len(d.was.Modules) == 0 {
		return
	}
	key := carriedKey{&d.was.Modules[0], &want.Modules[0], len(d.was.Modules), len(want.Modules)}
	list, ok := c.carried[key]
	if !ok {
		list = carriedList(d.was.Modules, want.Modules)
		c.carried[key] = list
	}
	want.Modules = list
}

// carriedList applies carried to a list. If nothing changes, it returns one of the slices: comparisons of equal lists
// with the same address are fast.
func carriedList(was, want []fleet.Assigned) []fleet.Assigned {
	own := false
	for i, m := range want {
		old := find(was, m.Module, i)
		if old == nil {
			continue
		}
		if kept := carried(*old, m); kept.Revision != m.Revision || kept.Proof != m.Proof {
			if !own {
				want, own = slices.Clone(want), true
			}
			want[i] = kept
		}
	}
	if fleet.SameModules(was, want) {
		return was
	}
	return want
}

// carried returns the wanted part, with the previous revision and proof if its content is
// unchanged. A different signer is a change: an agent may trust one signer and not the other.
func carried(was, want fleet.Assigned) fleet.Assigned {
	a, b := was.Revision, want.Revision
	if was.Bundle == want.Bundle && a.Repository == b.Repository && a.Branch == b.Branch && a.Signer == b.Signer {
		want.Revision, want.Proof = a, was.Proof
	}
	return want
}

// find returns a module, which is probably at an index.
func find(list []fleet.Assigned, module string, place int) *fleet.Assigned {
	if place < len(list) && list[place].Module == module {
		return &list[place]
	}
	for i := range list {
		if list[i].Module == module {
			return &list[i]
		}
	}
	return nil
}
