package host

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewShow builds the command show, to show one run: its states, their causes and parts.
func NewShow(s *cli.Session) *cobra.Command {
	diff := false
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show one run: its states, their causes and parts",
		Long: `Shows a run: which states ran, what caused them, and the result of each part.
Without a number it shows the last run. c3 is a command of fettle run or a
similar command, with the end of its output.

--diff adds what the run changed in text files, if their content is still
stored. It does not show secret content.`,
		Example: "  fettle show\n  fettle show 12\n  fettle show 12 --diff\n  fettle show c3",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error {
				return showOne(s.Printer, c, x, a, diff)
			})
		},
	}
	c.Flags().BoolVar(&diff, "diff", false, "show differences of content")
	return c
}

// showOne shows the named run, otherwise the last run.
func showOne(s *cli.Printer, c *cobra.Command, x executor.Executor, a []string, diff bool) error {
	if len(a) == 1 {
		if id, ok := commandNumber(a[0]); ok {
			return showCommand(c.Context(), s, x, id)
		}
	}
	run, err := RunNumber(c.Context(), x, a)
	if err != nil {
		return err
	}
	var d executor.RunDetails
	if diff {
		d, err = executor.DetailsOf(c.Context(), x, run, true)
	} else {
		d, _, err = executor.ReadRun(c.Context(), x, run, false)
	}
	if err != nil {
		return err
	}
	return showRun(s, d)
}

// RunNumber returns the number of the named run, otherwise of the last run.
func RunNumber(ctx context.Context, x executor.Executor, a []string) (int, error) {
	runs, err := x.Runs(ctx)
	if err != nil {
		return 0, err
	}
	if len(a) == 0 {
		if len(runs) == 0 {
			return 0, errNothingApplied()
		}
		return runs[len(runs)-1].Header.Run, nil
	}
	n, err := strconv.Atoi(a[0])
	for _, r := range runs {
		if err == nil && r.Header.Run == n {
			return n, nil
		}
	}
	return 0, cli.Refuse("List them: fettle log", fmt.Sprintf("cannot find run %q", a[0]))
}
