package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/render"
)

type logDoc struct {
	Format string   `json:"format"` // fettle.log/1
	Runs   []runDoc `json:"runs"`   // newest first
}

func newLog(s *session) *cobra.Command {
	limit := 20
	var many manyFlags
	c := &cobra.Command{
		Use:     "log [RUN]",
		Short:   "List the runs, newest first",
		Long:    "Lists who ran what, when, and how it ended. With a number it shows that run, as\n\"fettle show\" does.",
		Example: "  fettle log\n  fettle log -n 0 --json\n  fettle log 12",
		Args:    args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if s.isMany() && len(a) == 0 {
				return s.logMany(c.Context(), many, limit)
			}
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				if len(a) == 1 {
					return s.showOne(c, x, a)
				}
				runs, err := x.Runs(c.Context())
				if err != nil {
					return err
				}
				return s.showLog(newestFirst(runs), limit)
			})
		},
	}
	many.flags(c)
	c.Flags().IntVarP(&limit, "number", "n", limit, "show this many; 0 is all")
	return c
}

func (s *session) showLog(runs []journal.RunInfo, limit int) error {
	if s.json {
		return s.document(logJSON(runs, limit))
	}
	left := 0
	if limit > 0 && len(runs) > limit {
		left = len(runs) - limit
		runs = runs[:limit]
	}
	if len(runs) == 0 {
		s.printf("Nothing was run on this machine yet.\n")
		return nil
	}
	var rows [][]string
	for _, r := range runs {
		rows = append(rows, s.logRow(r))
	}
	s.style().Table(s.app.Stdout, []string{"RUN", "WHEN", "WHO", "OPERATION", "CHANGED", "OUTCOME", "REVISION"}, rows)
	if left > 0 {
		s.printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

func (s *session) logRow(r journal.RunInfo) []string {
	h := r.Header
	return []string{strconv.Itoa(h.Run), s.moment(r.Started), h.User, operation(h), strconv.Itoa(r.Changed), outcomeOf(r), render.Style{}.Revision(h.Revision)}
}

// logJSON has the newest so many runs, all where limit is 0.
func logJSON(runs []journal.RunInfo, limit int) logDoc {
	doc := logDoc{Format: "fettle.log/1", Runs: []runDoc{}}
	for i, r := range runs {
		if limit > 0 && i == limit {
			break
		}
		doc.Runs = append(doc.Runs, runJSON(r))
	}
	return doc
}
