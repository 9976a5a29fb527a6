package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/render"
)

type logDoc struct {
	Format string   `json:"format"` // fettle.log/2
	Runs   []runDoc `json:"runs"`   // newest first
	// Commands are the commands of fettle run and similar commands, newest first.
	Commands []ranDoc `json:"commands"`
}

func newLog(s *session) *cobra.Command {
	limit, here := 0, false
	var many manyFlags
	c := &cobra.Command{
		Use:     "log [RUN]",
		Short:   "List the runs, newest first",
		Long:    "Lists the runs: user, operation, time and outcome. It also lists\nprograms of fettle run, copies and reboots, as c1, c2, … With a number it shows\nthat run, as \"fettle show\" does.\n\nWith --here it lists operations on targets from this workstation: commands, and\napply and rollback on many targets.",
		Example: "  fettle log\n  fettle log -n 0 --json\n  fettle log 12\n  fettle log --here",
		Args:    args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if here {
				if err := aside(c, "--here"); err != nil {
					return err
				}
				return logHere(s.printer, limit)
			}
			if s.isMany() && len(a) == 0 {
				return logMany(c.Context(), s, many, limit)
			}
			return withPaged(c.Context(), s, func(x executor.Executor) error {
				if len(a) == 1 {
					return showOne(s.printer, c, x, a)
				}
				h, left, err := historyOf(c.Context(), x, limit)
				if err != nil {
					return err
				}
				return showLog(s.printer, h, left)
			})
		},
	}
	many.flags(c)
	c.Flags().BoolVar(&here, "here", false, "list the operations on targets from this workstation")
	limitOrAllFlag(c, &limit, 20, "runs")
	return c
}

func showLog(s *printer, h history, left int) error {
	if s.json {
		return s.document(logJSON(h))
	}
	rows := s.rows(h)
	if len(rows) == 0 {
		s.printf("Nothing was run on this host yet.\n")
		return nil
	}
	s.style().Table(s.app.Stdout, []string{"RUN", "TIME", "USER", "OPERATION", "CHANGED", "OUTCOME", "REVISION"}, rows)
	if left > 0 {
		s.printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

func logRow(s *printer, r journal.RunInfo) []string {
	h := r.Header
	return []string{strconv.Itoa(h.Run), s.moment(r.Started), h.User, operation(h), strconv.Itoa(r.Changed),
		outcomeOf(r), render.Style{}.Revision(h.Revision)}
}

func logJSON(h history) logDoc {
	doc := logDoc{Format: "fettle.log/2", Runs: []runDoc{}, Commands: []ranDoc{}}
	for _, r := range h.runs {
		doc.Runs = append(doc.Runs, runJSON(r))
	}
	for _, c := range h.commands {
		doc.Commands = append(doc.Commands, ranJSON(c))
	}
	return doc
}
