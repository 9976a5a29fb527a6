package repository

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/workspace"
)

// RolloutPlanDoc describes what a commit would change in the fleet.
type RolloutPlanDoc struct {
	Format string               `json:"format"` // fettle.rolloutplan/1
	Plan   document.RolloutPlan `json:"plan"`
	// Classes are the changes of the step lists since the present commit of the fleet. Targets with the same
	// changes are one class.
	Classes []fleetDiff `json:"classes"`
	// NoClasses is the reason why the step lists could not be compared.
	NoClasses string `json:"no_classes,omitempty"`
}

// NewRolloutPlan builds the command rollout plan.
func NewRolloutPlan(s *cli.Session) *cobra.Command {
	markdown := false
	c := &cobra.Command{
		Use:   "plan [REF]",
		Short: "Show what a commit would change in the fleet, before the push",
		Long: `Shows which rollouts would begin if the branch of the fleet were at a commit,
branch or tag; without REF, the current files count. For each rollout it shows
the waves, the targets in each wave, and the worst case. It also shows targets
that would wait, and the changes of the step lists.

The command compiles the repository here and sends the result to the hub,
without the content of files. The hub decides as for a real commit, and discards
the decision. A user needs only the right read. The result is exact as long as
the fleet, its labels and its rollouts do not change.

--markdown prints a summary for a comment of a pull request, of at most 65,536
characters.

Exits with code 2 if targets would get changes.`,
		Example: "  fettle rollout plan\n  fettle rollout plan my-branch\n  fettle rollout plan HEAD --markdown",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			ref := s.Rev
			if len(a) > 0 {
				ref = a[0]
			}
			return s.Paged(c.Context(), func() error { return rolloutPlan(c.Context(), s, ref, markdown) })
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print Markdown for a comment of a pull request")
	return c
}

func rolloutPlan(ctx context.Context, s *cli.Session, ref string, markdown bool) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	enrolled, err := hubclient.FleetTargets(ctx, s)
	if err != nil {
		return err
	}
	src, err := s.OpenSource(ctx, ref)
	if err != nil {
		return err
	}
	defer src.Close()
	request, err := planRequest(s, src, enrolled)
	if err != nil {
		return err
	}
	doc := RolloutPlanDoc{Format: "fettle.rolloutplan/1", Classes: []fleetDiff{}}
	if doc.Plan, err = client.Post(ctx, hub, route.PlanRollouts(), request); err != nil {
		return err
	}
	if err := doc.compare(ctx, s, src, enrolled); err != nil {
		return err
	}
	if err := showRolloutPlan(s.Printer, doc, markdown); err != nil {
		return err
	}
	if len(doc.Plan.Rollouts)+len(doc.Plan.AtOnce) > 0 {
		return cli.ErrChanges
	}
	return nil
}

// planRequest compiles a repository for the targets of the fleet, which it adds to the source.
func planRequest(s *cli.Session, src *workspace.Source,
	enrolled map[string]map[string]string) (r document.RolloutPlanRequest, err error) {
	if src.Prefix != "." {
		return r, cli.Refuse("Move fettle.hcl to the top of the git repository",
			"cannot plan a rollout: the repository of a fleet has its main file at the top, and here it is in "+src.Prefix)
	}
	plain := src.Tree
	src.Tree, src.Enrolled = hubclient.EnrolledTree(plain, enrolled), true
	targets, err := cli.Inventory(s, src)
	if err != nil {
		return r, err
	}
	strategies, ds := compile.Ask(s.App.Language.Queries, compile.StrategiesQuery{About: src.About()})
	if err := ds.Err(); err != nil {
		return r, err
	}
	compiled, err := assign.Compile(plain, targets, strategies)
	if err != nil {
		return r, err
	}
	if !src.Rev.Dirty {
		r.Commit, r.Subject, r.Time = src.Rev.Commit, src.Rev.Subject, src.Rev.Time
	}
	r.Compiled, err = json.Marshal(compiled)
	return r, err
}

// compare compares the step lists with the present commit of the fleet, if the repository has it.
func (d *RolloutPlanDoc) compare(ctx context.Context, s *cli.Session, src *workspace.Source,
	enrolled map[string]map[string]string) error {
	before, err := s.OpenSource(ctx, d.Plan.Head)
	if err != nil {
		d.NoClasses = fmt.Sprintf("this repository does not have %.12s, the present commit of the fleet: git fetch",
			d.Plan.Head)
		return ctx.Err()
	}
	defer before.Close()
	before.Tree, before.Enrolled = hubclient.EnrolledTree(before.Tree, enrolled), true
	sides := [2]*workspace.Source{before, src}
	g, err := fleetChanges(ctx, s, sides)
	if err != nil {
		return err
	}
	affected := d.affected()
	for _, class := range g.sorted() {
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
