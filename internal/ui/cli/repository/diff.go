package repository

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// NewDiff builds the command diff, to show the steps that differ between two revisions.
func NewDiff(s *cli.Session) *cobra.Command {
	all, fleet := false, false
	c := &cobra.Command{
		Use:   "diff [REV [REV]]",
		Short: "Show the steps that differ between two revisions",
		Long: `Compiles a target at two revisions, and prints the removed (-) and the added (+)
steps. With one revision, the command compares it with the current files.
Without a revision, it compares the last commit with the current files.

--all and --fleet compare every target of either revision. --fleet prints a
difference that several targets share only once. Both options include the
targets of the fleet if you have a login, or if you run the command on the hub.
--via ssh excludes these targets.

Without the targets of the fleet, a group that selects by label may have no
declared target. The command then compares one example with the labels of the
group, and lists the examples.

The command reads only the facts of hosts, and not their state.

Exits with code 2 if there are differences.`,
		Example: "  fettle diff\n  fettle diff main\n  fettle diff v1.3 v1.4 --all\n  fettle diff v1.3 v1.4 --fleet",
		Args:    cli.Args(0, 2),
		RunE: func(c *cobra.Command, a []string) error {
			return s.Paged(c.Context(), func() error { return diff(c.Context(), s, a, all, fleet) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "compare every target")
	c.Flags().BoolVar(&fleet, "fleet", false, "compare every target; show targets with the same difference together")
	return c
}

func diff(ctx context.Context, s *cli.Session, a []string, all, fleet bool) error {
	revs := append(slices.Clone(a), "", "")[:2]
	if len(a) == 0 {
		revs[0] = "HEAD"
	}
	if len(a) < 2 {
		revs[1] = s.Rev
	}
	var sides [2]*workspace.Source
	for i, rev := range revs {
		src, err := s.OpenSource(ctx, rev)
		if err != nil {
			return err
		}
		defer src.Repo.Close()
		sides[i] = src
	}
	examples, err := comparable(ctx, s, sides, all || fleet)
	if err != nil {
		return err
	}
	if fleet {
		return diffFleet(ctx, s, sides, FleetDiffDoc{Old: named(revs[0]), New: named(revs[1]), Examples: examples})
	}
	targets, err := diffTargets(s, sides, all)
	if err != nil {
		return err
	}
	doc := DiffDoc{Format: "fettle.diff/1", Old: named(revs[0]), New: named(revs[1]), Targets: []targetDiff{},
		Examples: examplesAmong(examples, targets)}
	for _, t := range targets {
		lines, err := diffTarget(ctx, s, sides, t)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			doc.Targets = append(doc.Targets, targetDiff{t, lines})
		}
	}
	return showDiff(s.Printer, doc, all)
}

func named(rev string) string {
	if rev == "" {
		return WorkTreeName
	}
	return rev
}

func diffTarget(ctx context.Context, s *cli.Session, sides [2]*workspace.Source, target string) ([]string, error) {
	var lists [2]step.List
	for i, side := range sides {
		names, err := s.Targets(side)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, target) {
			continue // not yet, or no longer, a target: an empty list
		}
		res, err := cli.CompileTarget(ctx, s, side.Tree, target)
		if err != nil {
			return nil, err
		}
		lists[i] = res.List
	}
	return diffLinesOf(lists[0], lists[1]), nil
}
