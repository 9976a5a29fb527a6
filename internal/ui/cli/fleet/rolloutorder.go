package fleet

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// order describes one command to a rollout.
type order struct {
	action, short, long string
	target              bool   // it is about one target
	question            string // before it; "" means none
}

// rolloutOrders builds the commands that change the course of a rollout.
func rolloutOrders(s *cli.Session) []*cobra.Command {
	var out []*cobra.Command
	for _, o := range []order{
		{action: "pause", short: "Stop further grants of a rollout",
			long: `Pauses a rollout: no further target gets the change. Targets that have it keep
it.`},
		{action: "resume", short: "Continue a paused rollout",
			long: `Continues a paused rollout. Failures up to now count as accepted: the rollout
stops again only after further failures.`},
		{action: "abort", short: "End a rollout; targets that have the change keep it",
			long: `Ends a rollout, or its rollback. Targets keep their present content. No other
target gets the change, until it is released or a newer commit replaces it.`,
			question: "Abort the rollout %s, so that some targets keep the change and others do not get it?"},
		{action: "rollback", short: "Return all targets of a rollout to their previous content",
			long: `Ends a rollout. All targets that have the change return to the content that they
had before. The change is held: no target gets it again until it is released or
a newer commit replaces it.`,
			question: "Roll the rollout %s back on all targets that have the change?"},
		{action: "promote", short: "End the bake time of the current wave",
			long: `Ends the bake time of the current wave. The next wave still begins only if the
targets of the current one are healthy.`},
		{action: "skip", short: "Exclude a target from a rollout", target: true,
			long: `Excludes a target from a rollout. It keeps its present content, until it is
retried or a newer commit replaces the change.`},
		{action: "retry", short: "Give the change to a failed, silent or skipped target again", target: true,
			long: `Gives the change to a failed, silent or skipped target again, as soon as the
limits of the rollout allow it.`},
		{action: "release", short: "Permit content that is held since a rollout ended",
			long: `Permits content that is held because a rollout was aborted or rolled back. It is
rolled out again, as a new rollout from the first wave.`},
	} {
		out = append(out, newRolloutOrder(s, o))
	}
	return out
}

func newRolloutOrder(s *cli.Session, o order) *cobra.Command {
	yes, reason, args := false, "", 1
	c := &cobra.Command{Use: o.action + " ROLLOUT", Short: o.short, Long: o.long,
		Example: "  fettle rollout " + o.action + " r7"}
	if o.target {
		c.Use, c.Example, args = c.Use+" TARGET", c.Example+" web3", 2
	}
	c.Args = cli.Args(args, args)
	c.RunE = func(c *cobra.Command, a []string) error {
		if o.question != "" {
			if err := cli.AskBefore(c.Context(), s, yes, fmt.Sprintf(o.question, a[0])); err != nil {
				return err
			}
		}
		r := document.RolloutRequest{Action: o.action, Reason: reason}
		if o.target {
			r.Target = a[1]
		}
		return callRollout(c, s, route.OrderRollout(), a[0], r)
	}
	if o.question != "" {
		cli.YesFlag(c, &yes)
	}
	cli.ReasonFlag(c, &reason)
	return c
}

// fleetPart returns the part that a command names.
func fleetPart(a []string, all bool) (string, error) {
	switch {
	case all == (len(a) > 0):
		return "", cli.Refuse("Name a module, or use --all", "cannot tell which content is meant")
	case all:
		return assign.AllParts, nil
	case a[0] == assign.AllParts: // a module with this name
		return "modules/" + a[0], nil
	}
	return a[0], nil
}

func sendFleet(s *cli.Session, do func(*client.Client) (document.Done, error)) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := do(hub)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
}
