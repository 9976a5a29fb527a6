package preview

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// NewRolloutDiff builds the command rollout diff.
func NewRolloutDiff(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "diff COMMIT",
		Short: "Show what a pushed commit would change on the targets",
		Long: `Shows the difference between the present configuration of each target and its
configuration at a commit of the repository that the fleet follows. Targets with
the same difference are one group. The command also shows the rollouts that
would begin, with their worst case, and the results of the tests of the commit.

COMMIT is a hash, a branch, a tag, or the full name of a ref, such as
refs/pull/12/head. It need not be on the branch of the fleet. If a target has
the commit, 7 digits of the hash are sufficient. The hub fetches and compiles
the commit; no clone of the repository is needed. A user needs only the right
read.

The hub compiles with the facts that agents reported. A target with another fact
in its configuration cannot be compared. Secrets are placeholders.

To compare files before the push, use fettle rollout plan.`,
		Example: "  fettle rollout diff my-branch\n  fettle rollout diff refs/pull/12/head",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, hubclient.Watching{}, route.CommitDifferences(),
				route.CommitName{Commit: a[0]}, showDifferences)
		},
	}
}

// showDifferences prints the differences of a commit as text.
func showDifferences(s *cli.Printer, d document.CommitDifferences) {
	s.Printf("Commit %.12s  %s\n", d.Commit, render.Escape(d.Subject))
	s.Printf("%s\n", render.Escape(testsText(d.Tests)))
	for _, t := range d.Tests.Failed {
		s.Printf("  %s: %s\n", render.Escape(t.ID), render.Escape(t.Reason))
	}
	s.Printf("%d of %d targets have no difference.\n", d.Unchanged, d.Targets)
	for _, r := range d.Plan.Rollouts {
		s.Printf("A rollout with the strategy %s begins%s. Worst case: %s\n", render.Escape(r.Strategy), beginText(r),
			worstCase(r))
	}
	for _, g := range d.Groups {
		s.Printf("\n%s\n", groupTitle(g))
		lines := make([]string, len(g.Lines))
		for i, l := range g.Lines {
			if lines[i] = l.Text; l.Source != "" {
				lines[i] += "  #@ " + l.Source
			}
		}
		s.Style().ListDiff(s.App.Stdout, lines)
		if g.MoreLines > 0 {
			s.Printf("… and %d more lines\n", g.MoreLines)
		}
	}
	if d.MoreGroups > 0 {
		s.Printf("\n… and %d more groups with %d targets\n", d.MoreGroups, d.MoreTargets)
	}
	showReasons(s, "Cannot be compiled", d.Failed)
	showReasons(s, "Not compared", d.NotCompared)
}

func showReasons(s *cli.Printer, title string, all []document.TargetsWithReason) {
	for _, r := range all {
		s.Printf("\n%s: %s%s\n  %s\n", title, render.Folded(r.Targets), moreText(r.Count-len(r.Targets)),
			render.Escape(r.Reason))
	}
}

func groupTitle(g document.DifferenceGroup) string {
	return render.Folded(g.Targets) + moreText(g.Count-len(g.Targets))
}

func moreText(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// testsText summarizes the results of tests.
func testsText(t document.TestResults) string {
	switch {
	case t.Error != "":
		return "The tests cannot run: " + t.Error
	case t.Total == 0:
		return "The commit has no tests."
	}
	text := fmt.Sprintf("%d of %d tests pass", t.Passed, t.Total)
	if t.NotRun > 0 {
		text += fmt.Sprintf("; %d did not run before the time limit", t.NotRun)
	}
	return text + "."
}
