package hub

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newHubRetire(s *cli.Session) *cobra.Command {
	var r document.HubRetirement
	yes := false
	c := &cobra.Command{
		Use:   "retire [NAME]",
		Short: "Retire a hub",
		Long: `Retires a hub: without NAME, the hub that runs on this host. The other hubs
copy its data, its agents connect to other hubs, and then it stops permanently.
The fleet no longer trusts the hub, or anything that its keys signed. Targets
with a certificate from this hub get a new one. This cannot be undone, and the
name is not used again. Afterwards, the directory of the hub can be removed.

A hub that no longer runs can be retired too, while most of the hubs are
available. With --lost, the fleet does not wait for the hub: it is removed at
once. Use it if the host of the hub, or a backup of it, was stolen.`,
		Example: "  fettle hub retire\n  fettle hub retire hub3 --reason 'replaced hardware'\n" +
			"  fettle hub retire hub3 --lost --reason stolen",
		Args: cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error { return retireHub(c.Context(), s, a, r, yes) },
	}
	cli.ReasonFlag(c, &r.Reason)
	c.Flags().BoolVar(&r.Lost, "lost", false, "the hub is lost permanently, or stolen: end the trust in it at once")
	cli.YesFlag(c, &yes)
	return c
}

// retireHub retires the named hub, or the hub of this machine.
func retireHub(ctx context.Context, s *cli.Session, names []string, r document.HubRetirement, yes bool) error {
	hub, err := retiringHub(s, names)
	if err != nil {
		return err
	}
	page, err := client.Get(ctx, hub, route.Hubs())
	if len(names) == 0 {
		if err != nil {
			return err
		}
		names = []string{page.AnsweredBy}
	}
	if err := cli.AskBefore(ctx, s, yes, "Retire the hub "+names[0]+"?"); err != nil {
		return err
	}
	d, err := client.Call(ctx, hub, route.RetireHub(), route.HubName{Hub: names[0]}, r)
	if err != nil {
		return err
	}
	return s.Done("retire", 0, d.Text+withdrawn(page))
}

// retiringHub returns the hub that gets the command. Only the hub of this machine can be retired
// without its name.
func retiringHub(s *cli.Session, names []string) (*client.Client, error) {
	if len(names) > 0 {
		return hubclient.HubOf(s.Printer)
	}
	return hubclient.OwnHub(s.Printer, "retire", "Retire a hub on another host by its name: fettle hub retire NAME")
}
