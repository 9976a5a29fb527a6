package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newTargetFreeze(s *cli.Session) *cobra.Command {
	var r document.FreezeRequest
	var expires time.Duration
	all := false
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "freeze [TARGET…]",
		Short: "Freeze targets: their agents change nothing",
		Long: `Freezes targets. The agent of a frozen target applies nothing new and repairs no
drift; it still reports drift. A run that has begun is not interrupted. Jobs and
commands of operators still run; to refuse these too, use fettle freeze on the
host. A second freeze replaces the reason and the end of the first.

--all is the emergency stop: one freeze for every target, including targets that
join later. It requires a reason, and "fettle status --fleet" shows it first. It
ends with "fettle target unfreeze --all". Freezes of single targets are
separate: a target is frozen as long as one freeze applies.`,
		Example: "  fettle target freeze db1 --reason 'migration until noon'\n  fettle target freeze -t 'label:env=prod' --expires 2h\n  fettle target freeze --all --reason 'the last commit stops nginx'",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			r.For = int64(expires)
			if all {
				return freezeAll(c.Context(), s, a, r)
			}
			return onTargets(s, c, "freeze", a, route.FreezeTarget(), r)
		},
	})
	c.Flags().BoolVar(&all, "all", false, "freeze the whole fleet, including targets that join later")
	cli.ExpiresFlag(c, &expires, 0, "end the freeze (default: never) after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func freezeAll(ctx context.Context, s *cli.Session, names []string, r document.FreezeRequest) error {
	if r.Reason == "" {
		return cli.Refuse("Give one for the other operators: --reason TEXT", "cannot freeze all targets without a reason")
	}
	return changeFleet(s, "freeze", names, func(hub *client.Client) (document.Done, error) {
		return client.Post(ctx, hub, route.FreezeAll(), r)
	})
}

func newTargetUnfreeze(s *cli.Session) *cobra.Command {
	all := false
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "unfreeze [TARGET…]",
		Short: "Unfreeze targets",
		Long: `Removes the freezes of these targets. A target stays frozen while the whole
fleet is frozen. --all ends the freeze of the whole fleet, and keeps the freezes
of single targets.`,
		Example: "  fettle target unfreeze db1\n  fettle target unfreeze --all",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if all {
				return changeFleet(s, "unfreeze", a, func(hub *client.Client) (document.Done, error) {
					return client.Post(c.Context(), hub, route.UnfreezeAll(), document.ReasonRequest{})
				})
			}
			return onTargets(s, c, "unfreeze", a, route.UnfreezeTarget(), document.ReasonRequest{})
		},
	})
	c.Flags().BoolVar(&all, "all", false, "end the freeze of the whole fleet")
	return c
}

// changeFleet does something to the whole fleet, so it takes no targets.
func changeFleet(s *cli.Session, did string, names []string, f func(*client.Client) (document.Done, error)) error {
	if len(names)+len(s.Words) > 0 {
		return cli.Refuse("Leave --all out, or the targets", "cannot "+did+" all targets and some of them at once")
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := f(hub)
	if err != nil {
		return err
	}
	return s.Done(did, 0, d.Text)
}

// freezeText says who stopped the fleet, why, and how many agents hold the freeze.
func freezeText(s *cli.Printer, st document.Status) string {
	f := st.Freeze
	if f == nil {
		return ""
	}
	end := "until: fettle target unfreeze --all"
	if f.Until > 0 {
		end = "until " + s.Moment(f.Until)
	}
	return fmt.Sprintf("all targets, by %s at %s: %s\n%s; %d of %d agents have applied it", f.By, s.Moment(f.At),
		f.Reason, end, st.Frozen, st.Targets)
}
