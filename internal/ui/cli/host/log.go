package host

import (
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// LogDoc is the output of log as a JSON document.
type LogDoc struct {
	Format string       `json:"format"` // fettle.log/2
	Runs   []cli.RunDoc `json:"runs"`   // newest first
	// Commands are the commands of fettle run and similar commands, newest first.
	Commands []RanDoc `json:"commands"`
}

// NewLog builds the command log, to list the runs, newest first.
func NewLog(s *cli.Session) *cobra.Command {
	limit, here := 0, false
	var many cli.ManyFlags
	c := &cobra.Command{
		Use:     "log [RUN]",
		Short:   "List the runs, newest first",
		Long:    "Lists the runs: user, operation, time and outcome. It also lists\nprograms of fettle run, copies and reboots, as c1, c2, … With a number it shows\nthat run, as \"fettle show\" does.\n\nWith --here it lists operations on targets from this workstation: commands, and\napply and rollback on many targets.",
		Example: "  fettle log\n  fettle log -n 0 --json\n  fettle log 12\n  fettle log --here",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if here {
				if err := cli.AllowOnly(c, "--here"); err != nil {
					return err
				}
				return cli.ShowWorkstationHistory(s.Printer, limit)
			}
			if s.IsMany() && len(a) == 0 {
				return logMany(c.Context(), s, many, limit)
			}
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error {
				if len(a) == 1 {
					return showOne(s.Printer, c, x, a)
				}
				h, left, err := historyOf(c.Context(), x, limit)
				if err != nil {
					return err
				}
				return showLog(s.Printer, h, left)
			})
		},
	}
	many.Flags(c)
	c.Flags().BoolVar(&here, "here", false, "list the operations on targets from this workstation")
	cli.LimitOrAllFlag(c, &limit, 20, "runs")
	return c
}

func showLog(s *cli.Printer, h history, left int) error {
	if s.JSON {
		return s.Document(logJSON(h))
	}
	rows := historyRows(s, h)
	if len(rows) == 0 {
		s.Printf("Nothing was run on this host yet.\n")
		return nil
	}
	s.Style().Table(s.App.Stdout, []string{"RUN", "TIME", "USER", "OPERATION", "CHANGED", "OUTCOME", "REVISION"}, rows)
	if left > 0 {
		s.Printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

func logRow(s *cli.Printer, r journal.RunInfo) []string {
	h := r.Header
	return []string{strconv.Itoa(h.Run), s.Moment(r.Started), h.User, cli.Operation(h), strconv.Itoa(r.Changed),
		cli.OutcomeOf(r), render.Style{}.Revision(h.Revision)}
}

func logJSON(h history) LogDoc {
	doc := LogDoc{Format: "fettle.log/2", Runs: []cli.RunDoc{}, Commands: []RanDoc{}}
	for _, r := range h.runs {
		doc.Runs = append(doc.Runs, cli.RunJSON(r))
	}
	for _, c := range h.commands {
		doc.Commands = append(doc.Commands, ranJSON(c))
	}
	return doc
}
