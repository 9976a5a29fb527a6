package cli

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/render"
)

func newDrift(s *session) *cobra.Command {
	var f viewFlags
	var many manyFlags
	c := &cobra.Command{
		Use:   "drift",
		Short: "Show what is not as it was applied",
		Long: `Compares what is applied with what is there, and changes nothing. It needs no
repository. --verify reads every byte; without it a file whose size, times and
inode are unchanged counts as unchanged.

Ends with 2 when something differs.`,
		Example: "  fettle drift\n  fettle drift --verify --json",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if s.isMany() {
				return s.driftMany(c.Context(), f, many)
			}
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				p, err := x.Drift(c.Context(), f.wants(s), f.verify)
				if err != nil {
					return err
				}
				return s.showDrift(p, f.options(s))
			})
		},
	}
	f.flags(c)
	many.flags(c)
	return c
}

func (s *session) showDrift(p *plan.Plan, o render.PlanOptions) error {
	s.tellNotes(p)
	if s.json {
		if err := s.document(planJSON("fettle.drift/1", p)); err != nil {
			return err
		}
	} else {
		s.style().Drift(s.app.Stdout, p, o)
	}
	if len(p.Changes) > 0 {
		return errChanges
	}
	return nil
}
