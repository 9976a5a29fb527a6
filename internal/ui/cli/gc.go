package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/render"
)

type gcDoc struct {
	Format  string `json:"format"` // fettle.gc/1
	DryRun  bool   `json:"dry_run"`
	Runs    []int  `json:"runs"`
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

func newGC(s *session) *cobra.Command {
	keep := journal.Keep{Runs: 50, Within: 90 * 24 * time.Hour}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Delete old runs and their content",
		Long: `Deletes old runs, and the content that only these runs need. The applied state,
its way back to the origin, and a run that waits for its confirmation are always
kept. A run is kept if --keep-runs or --keep-within applies to it.`,
		Example: "  sudo fettle gc --dry-run\n  sudo fettle gc --keep-runs 10 --keep-within 168h",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if keep.Runs < 1 || keep.Within < 0 {
				return refuse("Keep at least the last: --keep-runs 1", "cannot keep fewer than 1 run, or runs of a negative age")
			}
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				got, err := x.Collect(c.Context(), keep, s.runOptions())
				if err != nil {
					return err
				}
				return s.showCollected(got, keep.DryRun)
			})
		},
	}
	c.Flags().IntVar(&keep.Runs, "keep-runs", keep.Runs, "keep this many of the newest runs")
	durationVar(c.Flags(), &keep.Within, "keep-within", keep.Within, "also keep all runs that are younger than this")
	c.Flags().BoolVar(&keep.DryRun, "dry-run", false, "delete nothing, and report how much would be deleted")
	return c
}

func (s *session) showCollected(got journal.Collected, dry bool) error {
	if s.json {
		runs := got.Runs
		if runs == nil {
			runs = []int{}
		}
		return s.document(gcDoc{"fettle.gc/1", dry, runs, got.Objects, got.Bytes})
	}
	verb := "Removed"
	if dry {
		verb = "Would remove"
	}
	s.printf("%s\n", fmt.Sprintf("%s %d runs and %d objects, %s.", verb, len(got.Runs), got.Objects, render.Bytes(got.Bytes)))
	return nil
}
