package assign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// readReplacements returns the effects of all replacements. The newest one for the same content wins: also content to
// which it returns is not held any more.
func readReplacements(in Input, alarms *alarms) map[heldKey]replaced {
	out := map[heldKey]replaced{}
	all := slices.Clone(in.Replacements)
	slices.SortFunc(all, func(a, b Replacement) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.Part, a.Part))
	})
	for _, r := range all {
		for part, one := range r.read(in, alarms) {
			out[heldKey{part, one.held}] = one
			if one.why == "" && one.digest != one.held {
				delete(out, heldKey{part, one.digest})
			}
		}
	}
	maps.DeleteFunc(out, func(_ heldKey, r replaced) bool { return r.why == "" && r.held == r.digest })
	return out
}

// read returns the effect on each part. Without the content that replaces it, held content is held nevertheless.
func (r Replacement) read(in Input, alarms *alarms) map[string]replaced {
	held, unknown := in.compiled(r.Held)
	if unknown != "" {
		alarms.say(Unresolved, "The rollback of %s to %.12s has no effect: %s.", r.Part, r.Commit, unknown)
		return nil
	}
	with, why := in.compiled(r.Commit)
	parts := []string{r.Part}
	if r.Part == AllParts {
		parts = append(slices.Sorted(maps.Keys(held.Bundles)), RootPart)
	}
	out := map[string]replaced{}
	for _, part := range parts {
		one := replaced{r, held.bundle(part).Digest, with.bundle(part).Digest, with, why}
		if why == "" && one.digest == "" {
			if r.Part == AllParts {
				continue
			}
			one.why = "this commit does not have the part"
		}
		out[part] = one
	}
	r.sayHeld(in, parts, out, alarms)
	return out
}

// sayHeld adds an alarm if the head of the branch has held content that nothing replaces.
func (r Replacement) sayHeld(in Input, parts []string, effects map[string]replaced, alarms *alarms) {
	head := in.Revisions[in.Refs[in.Branch].Commit]
	parts = slices.DeleteFunc(parts, func(p string) bool {
		return effects[p].why == "" || head.bundle(p).Digest != effects[p].held
	})
	if len(parts) == 0 {
		return
	}
	content := fleet.NewHeldContent(parts, r.Held, "")
	alarms.addWith(Alarm{Kind: Unresolved, Held: &content, Text: fmt.Sprintf(
		"%s is %s, because the rollback to %.12s has no content: %s. Targets without the held content keep their "+
			"assignments.", r.Part, content.Text, r.Commit, effects[parts[0]].why)}, "")
}

// compiled returns a compiled commit. why is the reason why it is unknown, or "".
func (in Input) compiled(commit string) (got Contents, why string) {
	ref := in.Refs[commit]
	got, ok := in.Revisions[cmp.Or(ref.Commit, commit)]
	switch {
	case ok:
		return got, got.Error
	case ref.Error != "":
		return got, ref.Error
	}
	return got, fmt.Sprintf("the hub has not read the commit %.12s yet", commit)
}

// spreads returns the reason why a target must not change now, or "": it would get held content for which there is no
// other content.
func spreads(by map[heldKey]replaced, want fleet.Assignment, was *fleet.Assignment) string {
	if len(by) == 0 {
		return ""
	}
	for _, a := range append([]fleet.Assigned{want.Root}, want.Modules...) {
		part := cmp.Or(a.Module, RootPart)
		r, ok := by[heldKey{part, a.Bundle.Digest}]
		if ok && r.why != "" && a.Rollout != PinRollout && bundleOf(was, a.Module) != a.Bundle {
			return fmt.Sprintf("the content of %s in the commit %.12s is held, and cannot be replaced by %.12s: %s", part,
				r.Held, r.Commit, r.why)
		}
	}
	return ""
}

// bundleOf returns the bundle of a part of an assignment, if there is one.
func bundleOf(a *fleet.Assignment, module string) fleet.Bundle {
	if a == nil || a.Withdrawn != "" {
		return fleet.Bundle{}
	}
	if module == content.RootBundle {
		return a.Root.Bundle
	}
	for _, m := range a.Modules {
		if m.Module == module {
			return m.Bundle
		}
	}
	return fleet.Bundle{}
}

// replace returns the content of a part that targets of a branch get.
func replace(by map[heldKey]replaced, branch string, a fleet.Assigned, alarms *alarms) fleet.Assigned {
	part := cmp.Or(a.Module, RootPart)
	r, ok := by[heldKey{part, a.Bundle.Digest}]
	if !ok || r.why != "" {
		return a
	}
	release := part
	if r.Part == AllParts {
		release = "--all"
	}
	held := fleet.NewHeldContent([]string{part}, r.Held, r.Commit)
	alarms.addWith(Alarm{Kind: RolloutHeld, Module: a.Module, Held: &held, Text: fmt.Sprintf(
		"%s is %s, because %s rolled the fleet back. Push newer content, or run: fettle fleet release %s",
		part, held.Text, r.By, release)}, "")
	a.Revision, a.Bundle, a.Proof = r.with.at(branch), r.with.bundle(part), r.with.proof(a.Module)
	a.Permit = r.Permit
	if a.Module != content.RootBundle {
		a.Needs = r.with.ownNeeds(a)
	}
	return a
}

// ownNeeds returns the needs of a module at another revision. Needs from layers stay.
func (r Contents) ownNeeds(a fleet.Assigned) []fleet.Need {
	for _, name := range slices.Sorted(maps.Keys(r.Targets)) {
		for _, m := range r.Targets[name].Modules {
			if m.Directory == a.Module {
				return united(a.Needs, m.Needs)
			}
		}
	}
	return a.Needs
}

// whyReplaced explains the held content of a module or of the root bundle, or returns "".
func (o Output) whyReplaced(part string) string {
	head := o.in.Revisions[o.in.Refs[o.in.Branch].Commit]
	r, ok := o.replacements[heldKey{part, head.bundle(part).Digest}]
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%s is held: the head of %s has the content of %.12s, and %s rolled the fleet back to %.12s", part,
		o.in.Branch, r.Held, r.By, r.Commit)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}
