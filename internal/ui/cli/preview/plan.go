// Package preview shows what a commit would change in a fleet, before the push:
//
//	c.AddCommand(preview.NewRolloutPlan(session)) // fettle rollout plan
//
// The hub decides on a copy of its state.
package preview

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

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
	doc := RolloutPlanDoc{Format: "fettle.rolloutplan/1", Classes: []fleetdiff.Diff{}}
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

// showRolloutPlan prints a plan as text, JSON or Markdown.
func showRolloutPlan(s *cli.Printer, d RolloutPlanDoc, markdown bool) error {
	switch {
	case s.JSON:
		return s.Document(d)
	case markdown:
		s.Printf("%s", planMarkdown(d))
	default:
		showText(s, d)
	}
	return nil
}
