package host

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

func planMany(s *cli.Session, c *cobra.Command, f PlanFlags) error {
	if f.Out != "" {
		return planAndSave(s, c, f)
	}
	_, err := planEach(s, c, f, func(bool, executor.Request, *plan.Plan) error { return nil })
	return err
}
