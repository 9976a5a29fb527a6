package rollouts

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/rollout/declared"
)

// Fleet is the knowledge of the hub that leads about the state of the targets.
type Fleet struct {
	Now    int64  // seconds since 1970
	Up     int64  // since when this hub leads, seconds since 1970
	Jump   int64  // when the clock of this hub jumped last, seconds since 1970; 0: not since it leads
	Branch string // that the fleet follows
	// Head is the compiled head of the branch.
	Head    assign.Contents
	Targets map[fleet.TargetID]document.Target // from the read model
	// Versions contains what the content of targets declares about versions.
	Versions assign.Versions
	// Ready contains the targets on which a module is ready as assigned, for the modules of ReadyModules.
	Ready    map[string]map[fleet.TargetID]bool
	Observed *Observed
	// Foreign returns records.Assignment.Foreign of a target. nil means that there is none.
	Foreign func(fleet.TargetID) []records.Content
	// User returns the user of the hub with one of the names. It returns "" if there is none, or more than one.
	User func(names []string) string
	// Eager is World.Eager.
	Eager bool
}

// chosen returns the lane that the desired content of a target selects, or "" if it selects none.
func (f Fleet) chosen(d assign.Desired) string {
	if d.Want == nil || d.Strategy == "" {
		return ""
	}
	name := d.Strategy
	if name == rollout.AtOnce().Name && slices.ContainsFunc(fleet.Upstream(f.Head.Limits, d.Target.Organization),
		fleet.Limits.OfRollouts) {
		name = rollout.Careful().Name // at once, no limit could be kept
	}
	return rollout.LaneName(f.Branch, name)
}

// target describes one target for decisions.
func (f Fleet) target(d assign.Desired, s *rollout.State) rollout.Target {
	seen, chosen := f.Targets[d.Target.ID], f.chosen(d)
	t := rollout.Target{Name: d.Target.Name, Organization: d.Target.Organization, Lane: s.Lane(d.Target.ID, chosen),
		Chosen: chosen, Frozen: d.Want != nil && d.Want.Frozen != "",
		Online: seen.Connected, Contact: seen.Contact / 1e9, Hold: d.Kept, Closed: d.Closed,
		New: d.Was == nil || d.Was.Withdrawn != ""}
	if t.Lane != "" {
		t.Wants, t.Labels = f.Observed.differences.wants(d.Was, *d.Want), d.Want.Labels
		t.Missing = f.Observed.differences.missing(d.Was, *d.Want)
		t.Ordered = ordersOf(d.Was, *d.Want, t.Missing)
		if f.Foreign != nil {
			t.Foreign = f.Observed.differences.foreign(d.Was, f.Foreign(d.Target.ID))
		}
	}
	t.Health = health(d.Was, seen)
	t.Since = f.Observed.since(d.Target.ID, t.Health, f.Now)
	return t
}

// ordersOf returns the missing parts that new labels of a target select. Labels of the repository change together with
// the root bundle, so an operator has changed them if the root bundle is the same.
func ordersOf(was *fleet.Assignment, want fleet.Assignment, missing []string) (out []string) {
	if len(missing) == 0 || maps.Equal(was.Labels, want.Labels) || !sameContent(was.Root, want.Root) {
		return nil
	}
	for _, part := range missing {
		if !slices.Contains(was.Withheld, part) {
			out = append(out, part)
		}
	}
	return out
}

// health returns the state of the newest assignment. A report about another assignment is none.
func health(was *fleet.Assignment, seen document.Target) rollout.Health {
	if was == nil || seen.Accepted.Epoch != was.Epoch || seen.Accepted.Generation != was.Generation {
		return rollout.Unknown
	}
	switch seen.State {
	case document.Ready:
		return rollout.Healthy
	case document.Failed:
		return rollout.Broken
	case document.Blocked, document.Deferred, document.Frozen:
		return rollout.Blocked
	case document.Applying, document.Pending, document.Drifted:
		return rollout.Applying
	}
	return rollout.Unknown
}

// declares reports whether the head declares the strategy of a lane. Built-in strategies need no declaration.
func (f Fleet) declares(lane string) bool {
	_, name, _ := strings.Cut(lane, " ")
	_, ok := declared.Named(f.Head.Strategies, name, nil)
	return ok
}

// strategy returns the strategy of a lane.
func (f Fleet) strategy(lane string, names map[string]fleet.TargetID) rollout.Strategy {
	_, name, _ := strings.Cut(lane, " ")
	if s, ok := declared.Named(f.Head.Strategies, name, names); ok {
		return s
	}
	return rollout.Careful()
}

// cause describes the head of the branch, or the commit to which an operator rolled the fleet back.
func (f Fleet) cause(all []assign.Desired, changes []rollout.Change) string {
	contents := f.contents(all, changes)
	for _, c := range changes {
		p, ok := contents[rollout.Change{Part: c.Part, Digest: c.Digest}]
		if head := f.headBundle(c.Part); ok && head != "" && p.Bundle.Digest != head {
			return "rollback to " + commitText(p.Revision)
		}
	}
	return commitText(f.Head.Revision)
}

// headBundle returns the digest of the bundle that the head of the branch has for a part, or "".
func (f Fleet) headBundle(part string) string {
	if part == rootPart {
		return f.Head.Root.Digest
	}
	return f.Head.Bundles[part].Digest
}

// contents returns the content of changes in the first desired assignment that has it.
func (f Fleet) contents(all []assign.Desired, changes []rollout.Change) map[rollout.Change]fleet.Assigned {
	parts, out := map[string]bool{}, map[rollout.Change]fleet.Assigned{}
	for _, c := range changes {
		parts[c.Part] = true
	}
	seen := map[lists]bool{} // targets share their lists of modules
	for _, d := range all {
		if d.Want == nil || d.Want.Withdrawn != "" {
			continue
		}
		add := func(p fleet.Assigned) {
			key := rollout.Change{Part: partName(p), Digest: f.Observed.differences.digest(p)}
			if _, known := out[key]; !known {
				out[key] = p
			}
		}
		if parts[rootPart] {
			add(d.Want.Root)
		}
		if key := listsOf(nil, d.Want.Modules); !seen[key] {
			seen[key] = true
			for i := range d.Want.Modules {
				if parts[d.Want.Modules[i].Module] {
					add(d.Want.Modules[i])
				}
			}
		}
	}
	return out
}

func commitText(r fleet.Revision) string {
	text := "commit " + r.Commit[:min(12, len(r.Commit))]
	if r.Subject != "" {
		text += ": " + r.Subject
	}
	return text
}

// author returns the author of the head commit: the name in git, and the name of this user in the hub. user is "" if
// the user is not known.
func (f Fleet) author() (git, user string) {
	git = f.Head.Author
	if f.User != nil {
		user = f.User(rollout.AuthorNames(git))
	}
	return git, user
}
