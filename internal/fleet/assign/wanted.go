package assign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// listKey names a list of modules that many targets share.
type listKey struct {
	ref, rollout string
	first        *Module
	count        int
}

// EnrolledDigest names the targets that are active with their labels: what a revision
// says was asked for these. See Contents.Enrolled and EnrolledText.
func EnrolledDigest(targets []fleet.Target) string {
	sum := sha256.Sum256(EnrolledText(targets))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// EnrolledText is fleet.EnrolledFile for the targets that are active.
func EnrolledText(targets []fleet.Target) []byte {
	labels := map[string]map[string]string{}
	for _, t := range targets {
		if t.Standing == fleet.Active {
			labels[t.Name] = t.Labels
		}
	}
	return fleet.Enrolled(labels)
}

// Needed are the commits whose Contents are missing, or were asked for other targets
// than there are now, sorted. What Compute says before they are there changes nothing for
// those who follow them.
func Needed(in Input) []string {
	c := &computing{in: in, digest: EnrolledDigest(in.Targets), pinsOf: map[fleet.TargetID][]fleet.Pin{}}
	c.targets()
	c.readPins()
	refs := []string{in.Branch}
	for _, pins := range c.pinsOf {
		for _, p := range pins {
			refs = append(refs, p.Ref)
		}
	}
	var out []string
	for _, ref := range refs {
		commit := in.Refs[ref].Commit
		got, ok := in.Revisions[commit]
		if commit != "" && (!ok || got.Error == "" && got.Enrolled != c.digest) {
			out = append(out, commit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// branch raises the alarm about the branch that all follow.
func (c *computing) branch() {
	if r := c.in.Refs[c.in.Branch]; r.Error != "" || r.Commit == "" {
		c.alarms.say(Unreadable, "The branch %s cannot be followed, and nothing changes: %s.", c.in.Branch, cmp.Or(r.Error, "nobody has looked it up yet"))
	}
}

// contents is what the commit of a ref says. why tells what is wrong with it, and is ""
// when nothing is.
func (c *computing) contents(d *decision, ref string) (got Contents, why string) {
	found := c.in.Refs[ref]
	if ref != c.in.Branch && (found.Error != "" || found.Commit == "") {
		c.alarms.add(Unresolved, d.target.ID, "Targets are pinned to %s, which cannot be resolved: %s.", ref, cmp.Or(found.Error, "nobody has looked it up yet"))
	}
	commit := found.Commit
	got, ok := c.in.Revisions[commit]
	switch {
	case commit == "":
		return got, ref + " does not resolve"
	case !ok:
		why = "it was not read yet"
	case got.Error != "":
		why = got.Error
	case got.Enrolled != c.digest:
		why = "it was read for other targets than there are now"
	}
	if why != "" {
		why = fmt.Sprintf("the revision %.12s of %s cannot be used: %s", commit, ref, why)
		c.alarms.say(Unreadable, "Nothing changes for those who follow %s: %s.", ref, why)
	}
	return got, why
}

// wanted is what an active target is to be. why is what prevents it.
func (c *computing) wanted(d *decision) (want fleet.Assignment, why string) {
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
		conf.Errors = []string{"the repository does not know it"}
	}
	if len(conf.Errors) > 0 {
		mistake := strings.TrimSuffix(conf.Errors[0], ".")
		why = fmt.Sprintf("it cannot become %.12s: %s", got.Revision.Commit, mistake)
		c.alarms.add(ConfigurationError, t.ID, "Targets stay as they are, since they cannot become %.12s: %s.", got.Revision.Commit, mistake)
		return want, why
	}
	modules, why := c.modules(listKey{ref: ref, rollout: rollout(d)}, got, conf)
	if why != "" {
		c.alarms.add(NoBundle, t.ID, "Targets stay as they are: %s.", why)
		return want, why
	}
	if modules, why = c.pinned(d, modules); why != "" {
		return want, why
	}
	want = fleet.Assignment{Format: fleet.AssignmentFormat, Target: t.ID, Name: t.Name, Labels: conf.Labels, Fleet: t.Fleet,
		Top: c.top(ref, got), Modules: modules}
	want.Top.Rollout = rollout(d)
	d.permit(&want)
	want.Binary = c.binaryOf[t.ID]
	c.carry(d, &want)
	if want.Exported, why = c.exported(d, ref, got, conf); why != "" {
		return want, why
	}
	return want, ""
}

// top is that of all who follow a ref, without a rollout.
func (c *computing) top(ref string, got Contents) fleet.Assigned {
	top, known := c.tops[ref]
	if !known {
		top = fleet.Assigned{Revision: got.at(ref), Bundle: got.Top, Proof: got.proof("")}
		c.tops[ref] = top
	}
	return top
}

// permit gives the way back along that the pin of all of it carries.
func (d *decision) permit(want *fleet.Assignment) {
	if rollout(d) != PinRollout || d.pins[0].Permit == "" {
		return
	}
	want.Top.Permit = d.pins[0].Permit
	want.Modules = slices.Clone(want.Modules) // others may share it
	for i := range want.Modules {
		if want.Modules[i].Rollout == PinRollout && want.Modules[i].Permit == "" && want.Modules[i].Revision.Commit == want.Top.Revision.Commit {
			want.Modules[i].Permit = d.pins[0].Permit
		}
	}
}

// rollout is that of all that a target has.
func rollout(d *decision) string {
	if len(d.pins) > 0 && d.pins[0].Module == "" {
		return PinRollout
	}
	return ""
}

// at is the revision as it was found by a ref.
func (r Contents) at(ref string) fleet.Revision {
	out := r.Revision
	out.Branch = ref
	return out
}

// proof is what ties a part to the commit, nil for nothing.
func (r Contents) proof(directory string) *fleet.Bundle {
	if p, ok := r.Proofs[directory]; ok {
		return &p
	}
	return nil
}

// modules are a target's modules with their bundles. Targets that are configured alike
// share them.
func (c *computing) modules(key listKey, got Contents, conf Configured) (list []fleet.Assigned, why string) {
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
		list = append(list, fleet.Assigned{Module: m.Directory, Revision: got.at(key.ref), Bundle: bundle, Proof: got.proof(m.Directory), Rollout: key.rollout, Needs: m.Needs})
	}
	c.lists[key] = list
	return list, ""
}

// carriedKey names what is carried into a list of modules by the two lists: most targets
// have both in common with many others.
type carriedKey struct {
	was, want   *fleet.Assigned
	had, wanted int
}

// carry keeps the revisions of bundles that did not change, so a commit that changes nothing
// for a target is not a new assignment. If a part changes, the root bundle names the new
// commit even if the root did not change: the assignment is of that commit.
func (c *computing) carry(d *decision, want *fleet.Assignment) {
	if d.was == nil || d.was.Withdrawn != "" {
		return
	}
	c.carryModules(d, want)
	if fleet.SameModules(d.was.Modules, want.Modules) {
		want.Top = carried(d.was.Top, want.Top)
	}
}

func (c *computing) carryModules(d *decision, want *fleet.Assignment) {
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

// carriedList is carried for all of a list, which is given as it is where nothing is.
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
	return want
}

// carried is what is wanted, at the revision of what was there if that is the same, with
// what proves it. A commit that somebody else signed, or nobody, proves another thing: who
// refuses the one may take the other.
func carried(was, want fleet.Assigned) fleet.Assigned {
	a, b := was.Revision, want.Revision
	if was.Bundle == want.Bundle && a.Repository == b.Repository && a.Branch == b.Branch && a.Signer == b.Signer {
		want.Revision, want.Proof = a, was.Proof
	}
	return want
}

// find finds a module, probably at a place.
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
