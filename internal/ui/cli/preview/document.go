package preview

import (
	"context"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/repository"
	"fettle.dev/fettle/internal/workspace"
)

// RolloutPlanDoc describes what a commit would change in the fleet.
type RolloutPlanDoc struct {
	Format string               `json:"format"` // fettle.rolloutplan/1
	Plan   document.RolloutPlan `json:"plan"`
	// Classes are the changes of the step lists since the present commit of the fleet. Targets with the same
	// changes are one class.
	Classes []fleetdiff.Diff `json:"classes"`
	// NoClasses is the reason why the step lists could not be compared.
	NoClasses string `json:"no_classes,omitempty"`
}

// compare compares the step lists with the present commit of the fleet, if the repository has it.
func (d *RolloutPlanDoc) compare(ctx context.Context, s *cli.Session, src *workspace.Source,
	enrolled fleet.EnrolledTargets) error {
	before, err := s.OpenSource(ctx, d.Plan.Head)
	if err != nil {
		d.NoClasses = fmt.Sprintf("this repository does not have %.12s, the present commit of the fleet: git fetch",
			d.Plan.Head)
		return ctx.Err()
	}
	defer before.Close()
	before.Tree, before.Enrolled = workspace.EnrolledTree(before.Tree, enrolled), true
	sides := [2]*workspace.Source{before, src}
	all, err := repository.FleetChanges(ctx, s, sides)
	if err != nil {
		return err
	}
	affected := d.affected()
	for _, class := range all {
		class.Targets = slices.DeleteFunc(class.Targets, func(t string) bool { return !affected[t] })
		if len(class.Targets) > 0 {
			d.Classes = append(d.Classes, class)
		}
	}
	return nil
}

// affected returns the targets with changes, also the targets that would wait for them.
func (d *RolloutPlanDoc) affected() map[string]bool {
	out := map[string]bool{}
	add := func(names []string) {
		for _, n := range names {
			out[n] = true
		}
	}
	for _, r := range d.Plan.Rollouts {
		for _, w := range r.Waves {
			add(w.Targets)
		}
	}
	for _, p := range slices.Concat(d.Plan.AtOnce, d.Plan.Waiting) {
		add(p.Targets)
	}
	return out
}
