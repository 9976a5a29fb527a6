package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// ending is a command that takes targets out of the fleet, after a question.
func ending(s *cli.Session, c *cobra.Command, question string,
	r route.Route[route.TargetName, document.ReasonRequest, document.Done]) *cobra.Command {
	yes, reason := false, ""
	c.Args = cli.Args(0, -1)
	c.RunE = func(c *cobra.Command, a []string) error {
		what := strings.Join(a, ", ")
		if len(a) == 0 {
			what = "all targets that match " + strings.Join(s.Words, ",")
		}
		if err := cli.AskBefore(c.Context(), s, yes, fmt.Sprintf(question, what)); err != nil {
			return err
		}
		return onTargets(s, c, c.Name(), a, r, document.ReasonRequest{Reason: reason})
	}
	cli.YesFlag(c, &yes)
	cli.ReasonFlag(c, &reason)
	return hubclient.SelectMany(c)
}

func newTargetRetire(s *cli.Session) *cobra.Command {
	return ending(s, &cobra.Command{
		Use:   "retire [TARGET…]",
		Short: "Retire targets that have left the fleet",
		Long: `Ends the membership of targets in the fleet: revokes their certificates, and
removes the values that they export. The hubs keep the history of each target.

Nothing changes on the host. Its agent can no longer connect to a hub, but it
continues to apply the last assignment and to repair drift. To stop the agent,
run on the host: systemctl disable --now fettle-agent. To undo the configuration
or to remove fettle, see docs/leaving.md.

The host can join again as a new target, with a new token:
fettle agent enrol --again.`,
		Example: "  fettle target retire web9 --reason 'the hardware was returned'",
	}, "Retire %s?", route.RetireTarget())
}

func newTargetRevoke(s *cli.Session) *cobra.Command {
	return ending(s, &cobra.Command{
		Use:   "revoke [TARGET…]",
		Short: "Revoke the certificates of targets, at once",
		Long: `Revokes the certificates of targets, for example of a stolen host. Every hub
closes the connections of these targets and no longer accepts them. This cannot
be undone. As after fettle target retire, nothing changes on the host. The host
can join again as a new target, with a new token.`,
		Example: "  fettle target revoke web9 --reason stolen --yes",
	}, "Revoke %s?", route.RevokeTarget())
}
