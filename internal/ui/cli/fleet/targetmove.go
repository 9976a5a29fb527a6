package fleet

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newTargetMove(s *cli.Session) *cobra.Command {
	var r document.MoveRequest
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "move [TARGET…] --organization ORGANIZATION",
		Short: "Move targets to another organization",
		Long: `Moves targets to another organization. From now on, its users see and operate
the targets, with their labels, pins and freezes, but without earlier events.
Users of the previous organization no longer see the targets.`,
		Example: "  fettle target move web1 --organization acme/search\n  fettle target move -t 'db*' --organization=''",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if !c.Flags().Changed("organization") {
				return cli.Refuse("Add --organization NAME; for the fleet itself: --organization=''",
					"cannot move targets without an organization")
			}
			return onTargets(s, c, "move", a, route.MoveTarget(), r)
		},
	})
	c.Flags().StringVar(&r.Organization, "organization", "",
		"move to this `ORGANIZATION`, such as acme/search; '' is the fleet itself")
	cli.ReasonFlag(c, &r.Reason)
	return c
}
