package assign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// readReplacements returns the replacements whose commits are compiled, by part. One for a part wins over one for all.
func readReplacements(in Input, alarms *alarms) map[string]replaced {
	out := map[string]replaced{}
	all := slices.Clone(in.Replacements)
	slices.SortFunc(all, func(a, b Replacement) int { return cmp.Compare(a.Part, b.Part) })
	for _, only := range []bool{false, true} {
		for _, r := range all {
			if (r.Part != AllParts) == only {
				maps.Copy(out, r.read(in, alarms))
			}
		}
	}
	return out
}

func (r Replacement) read(in Input, alarms *alarms) map[string]replaced {
	held, why := in.compiled(r.Held)
	with, other := in.compiled(r.Commit)
	if why = cmp.Or(why, other); why != "" {
		alarms.say(Unresolved, "The rollback of %s to %.12s has no effect yet: %s.", r.Part, r.Commit, why)
		return nil
	}
	parts := []string{r.Part}
	if r.Part == AllParts {
		parts = append(slices.Sorted(maps.Keys(held.Bundles)), RootPart)
	}
	out := map[string]replaced{}
	for _, part := range parts {
		from, to := held.bundle(part), with.bundle(part)
		switch {
		case from == to:
		case to.Digest == "" && r.Part != AllParts:
			alarms.say(Unresolved, "The rollback of %s to %.12s has no effect: this commit does not have the part.", part,
				r.Commit)
		case to.Digest != "":
			out[part] = replaced{r, from.Digest, with}
		}
	}
	return out
}

// compiled returns a compiled commit. why is the reason why it is unknown, or "".
func (in Input) compiled(commit string) (got Contents, why string) {
	ref := in.Refs[commit]
	got, ok := in.Revisions[cmp.Or(ref.Commit, commit)]
	switch {
	case ref.Error != "":
		return got, ref.Error
	case !ok:
		return got, fmt.Sprintf("the hub has not read the commit %.12s yet", commit)
	}
	return got, got.Error
}

// replace returns the content of a part that targets of a branch get.
func replace(by map[string]replaced, branch string, a fleet.Assigned, alarms *alarms) fleet.Assigned {
	part := cmp.Or(a.Module, RootPart)
	r, ok := by[part]
	if !ok || r.held != a.Bundle.Digest {
		return a
	}
	release := part
	if r.Part == AllParts {
		release = "--all"
	}
	alarms.addWith(Alarm{Kind: RolloutHeld, Module: a.Module, Text: fmt.Sprintf(
		"The content of %s in the commit %.12s is held: %s rolled the fleet back to %.12s. Push newer content, or run: "+
			"fettle fleet release %s", part, r.Held, r.By, r.Commit, release)}, "")
	a.Revision, a.Bundle, a.Proof = r.with.at(branch), r.with.bundle(part), r.with.proof(a.Module)
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
	r, ok := o.replacements[part]
	if head := o.in.Revisions[o.in.Refs[o.in.Branch].Commit]; !ok || head.bundle(part).Digest != r.held {
		return ""
	}
	text := fmt.Sprintf("%s is held: the head of %s has the content of %.12s, and %s rolled the fleet back to %.12s", part,
		o.in.Branch, r.Held, r.By, r.Commit)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}
