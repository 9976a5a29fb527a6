package hub

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// errUnwell ends hub check where something is not well.
var errUnwell = fmt.Errorf("the hub has a problem: %w", executor.ErrCheckFailed)

func newHubCheck(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Check a hub: disk, certificates, bus, repository, backup",
		Long:    `Checks the hub and shows each result. It exits with 3 if a check fails.`,
		Example: "  fettle hub check\n  fettle hub check --json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			well := false
			err := hubclient.Showing(c.Context(), s.Printer, hubclient.Watching{},
				func(hub *client.Client) (document.HubCheck, error) {
					d, err := client.Get(c.Context(), hub, route.Check())
					well = d.Well
					return d, err
				}, showCheck)
			if err == nil && !well {
				return errUnwell
			}
			return err
		},
	}
}

func showCheck(s *cli.Printer, d document.HubCheck) {
	rows := [][]string{}
	for _, f := range d.Checks {
		is := "ok"
		if !f.Well {
			is = "failed"
		}
		rows = append(rows, []string{f.Name, is, f.Text, f.Hint})
	}
	s.Style().Table(s.App.Stdout, []string{"CHECK", "RESULT", "DETAILS", "REMEDY"}, rows)
}
