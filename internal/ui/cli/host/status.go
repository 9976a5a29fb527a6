package host

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewStatus builds the command status, to show the applied state of this host.
func NewStatus(s *cli.Session) *cobra.Command {
	var many cli.ManyFlags
	var onFleet, watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the applied state of this host",
		Long: `Shows the applied revision, the result of the last run, and pending tasks: a
freeze, a run to confirm, a crashed run. It does not check the managed objects;
"fettle drift" does. With --fleet it shows the counts of the whole fleet, from
its hub.`,
		Example: "  fettle status\n  fettle status --json\n  fettle status --fleet --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if watch && !onFleet {
				return cli.Refuse("Watch the fleet: fettle status --fleet --watch",
					"cannot watch the state of one host: --watch needs --fleet")
			}
			if onFleet {
				if err := cli.AllowOnly(c, "--fleet"); err != nil {
					return err
				}
				return fleetStatus(c.Context(), s.Printer, watch)
			}
			if s.IsMany() {
				return statusMany(c.Context(), s, many)
			}
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
				st, err := x.Status(c.Context())
				if err != nil {
					return err
				}
				if s.JSON {
					return s.Document(statusJSON(st))
				}
				showStatus(s.Printer, st)
				return nil
			})
		},
	}
	many.Flags(c)
	c.Flags().BoolVar(&onFleet, "fleet", false, "show the fleet, through the hub")
	cli.WatchFlag(c, &watch)
	return c
}

func fleetStatus(ctx context.Context, s *cli.Printer, watch bool) error {
	if s.App.Commands.FleetStatus == nil {
		return errors.New("cannot show the fleet: this is the binary for targets. Use your workstation, or the hub")
	}
	return s.App.Commands.FleetStatus(ctx, s, watch)
}
