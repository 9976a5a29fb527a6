package locks

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newLockRelease(s *cli.Session) *cobra.Command {
	var r document.LockReleaseRequest
	yes := false
	c := &cobra.Command{
		Use:   "release LOCK TARGET",
		Short: "Release the slot of a target that cannot release it",
		Long: `Releases the slot of a target, so that another target can take it. The target is
not told. First make sure that it has finished its work, or that it stays off:
otherwise more targets than the lock allows can work at the same time.`,
		Example: "  fettle lock release reboots web1 --reason 'web1 is broken and stays off'",
		Args:    cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			if r.Reason == "" {
				return cli.Refuse("Add --reason WHY", "cannot release a slot without a reason")
			}
			r.Owner = a[1]
			question := fmt.Sprintf("Release the slot of %s, so that another target can take it?", r.Owner)
			if err := cli.AskBefore(c.Context(), s, yes, question); err != nil {
				return err
			}
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			d, err := client.Call(c.Context(), hub, route.ReleaseLock(), route.LockName{Lock: a[0]}, r)
			if err != nil {
				return err
			}
			return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
		},
	}
	cli.YesFlag(c, &yes)
	cli.ReasonFlag(c, &r.Reason)
	return c
}
