package host

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/size"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// GCDoc is the result of gc as a JSON document.
type GCDoc struct {
	Format  string `json:"format"` // fettle.gc/1
	DryRun  bool   `json:"dry_run"`
	Runs    []int  `json:"runs"`
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// NewGC builds the command gc, to delete old runs and their content.
func NewGC(s *cli.Session) *cobra.Command {
	yes := false
	keep := journal.Retention{Runs: 50, Within: 90 * 24 * time.Hour}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Delete old runs and their content",
		Long: `Deletes old runs, and the content that only these runs need. The applied state,
its way back to the origin, and a run that waits for its confirmation are always
kept. A run is kept if --keep-runs or --keep-within applies to it. Deleted runs
cannot be shown or undone.`,
		Example: "  sudo fettle gc --dry-run\n  sudo fettle gc --keep-runs 10 --keep-within 7d",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
				return collect(c.Context(), s, x, keep,
					yes)
			})
		},
	}
	cli.NumberVar(c.Flags(), &keep.Runs, "keep-runs", keep.Runs, 1, "keep this `NUMBER` of the newest runs")
	cli.DurationVar(c.Flags(), &keep.Within, "keep-within", keep.Within,
		"also keep all runs that are younger than this `DURATION`")
	c.Flags().BoolVar(&keep.DryRun, "dry-run", false, "delete nothing, and report how much would be deleted")
	cli.YesFlag(c, &yes)
	return c
}

// collect deletes old runs, after a question that shows how many.
func collect(ctx context.Context, s *cli.Session, x executor.Executor, keep journal.Retention, yes bool) error {
	first := keep
	first.DryRun = keep.DryRun || !yes
	got, err := x.Collect(ctx, first, s.RunOptions())
	switch {
	case err != nil:
		return err
	case keep.DryRun || yes || len(got.Runs)+got.Objects == 0:
		return showCollected(s.Printer, got, keep.DryRun)
	}
	if err := cli.AskBefore(ctx, s, yes, "Delete "+collectedText(got)+"?"); err != nil {
		return err
	}
	if got, err = x.Collect(ctx, keep, s.RunOptions()); err != nil {
		return err
	}
	return showCollected(s.Printer, got, false)
}

func showCollected(s *cli.Printer, got journal.Collected, dry bool) error {
	if s.JSON {
		runs := got.Runs
		if runs == nil {
			runs = []int{}
		}
		return s.Document(GCDoc{"fettle.gc/1", dry, runs, got.Objects, got.Bytes})
	}
	verb := "Deleted"
	if dry {
		verb = "Would delete"
	}
	s.Printf("%s %s.\n", verb, collectedText(got))
	return nil
}

func collectedText(got journal.Collected) string {
	runs, objects := render.Count(len(got.Runs), "run"), render.Count(got.Objects, "object")
	return fmt.Sprintf("%s and %s, %s", runs, objects, size.Rounded(got.Bytes))
}
