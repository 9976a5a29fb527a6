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
	"fettle.dev/fettle/internal/ui/render"
)

// NewFleet builds the command fleet, for operations on all targets.
func NewFleet(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Rollbacks of all targets, numbers over time, and a search",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newFleetRollback(s), newFleetRelease(s), newFleetRollbacks(s),
		newFleetHistory(s), newFleetSearch(s))
	return c
}

func newFleetRollback(s *cli.Session) *cobra.Command {
	var r document.FleetRollbackRequest
	var permit permitFlags
	all, yes, permitNow := false, false, false
	c := &cobra.Command{
		Use:   "rollback [MODULE]",
		Short: "Return all targets to earlier content",
		Long: `Returns a module, or with --all everything, to earlier content on all targets
that follow the branch of the fleet. --to stable is the content of the last
completed rollout, which targets get at once; the content of a commit reaches
them in waves. MODULE top is the root bundle.

The present content of the branch is held: targets do not get it, until the
branch has other content of the same part, or until "fettle fleet release".
Open rollouts of this content are superseded. Pinned targets keep their pins.
Targets keep their modules: with --all, modules that the commit does not have
stay as they are.

Targets that accept only signed commits return to their content before by
themselves for a limited time. For other content they require a permit:
--permit signs it here for all targets, with a key that they trust.`,
		Example: "  fettle fleet rollback nginx --to stable --reason 'requests time out'\n" +
			"  fettle fleet rollback --all --to v1.3 --permit",
		Args: cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) (err error) {
			if r.Part, err = fleetPart(a, all); err != nil {
				return err
			}
			if r.To == "" {
				return cli.Refuse("Name it: --to stable, or --to COMMIT", "cannot roll back the fleet without a destination")
			}
			if permitNow && r.To == "stable" {
				return cli.Refuse("Name the commit: --to COMMIT", "cannot sign a permit for stable content")
			}
			question := fmt.Sprintf("Roll back %s to %s on all targets?", r.Part, r.To)
			if err := cli.AskBefore(c.Context(), s, yes, question); err != nil {
				return err
			}
			if err := permit.complete(c.Context(), s, &r, permitNow); err != nil {
				return err
			}
			return sendFleet(s, func(hub *client.Client) (document.Done, error) {
				return client.Post(c.Context(), hub, route.RollBackFleet(), r)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "roll back the root bundle and all modules")
	c.Flags().StringVar(&r.To, "to", "", "return to the content of this `COMMIT`, or to stable")
	c.Flags().BoolVar(&permitNow, "permit", false, "sign a permit for the commit of --to, for all targets")
	permit.flags(c)
	cli.SpanVar(c.Flags(), &permit.expires, "permit-expires", permitLife, "let agents use the permit for this `DURATION`")
	cli.YesFlag(c, &yes)
	cli.ReasonFlag(c, &r.Reason)
	return c
}

// complete sets the full hash of the commit, and signs a permit for it if the user wants one.
func (p permitFlags) complete(ctx context.Context, s *cli.Session, r *document.FleetRollbackRequest,
	sign bool) (err error) {
	if r.To == "stable" {
		return nil
	}
	if r.To, err = fullCommit(ctx, s, r.To); err == nil && sign {
		_, r.Permit, err = signPermit(ctx, s, p, r.To, []string{"*"})
	}
	return err
}

func newFleetRelease(s *cli.Session) *cobra.Command {
	r, all := document.FleetReleaseRequest{}, false
	c := &cobra.Command{
		Use:     "release [MODULE]",
		Short:   "Permit content that is held since a rollback of the fleet",
		Long:    `Ends a rollback of the fleet: rollouts deliver the content of the branch again.`,
		Example: "  fettle fleet release nginx\n  fettle fleet release --all",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) (err error) {
			if r.Part, err = fleetPart(a, all); err != nil {
				return err
			}
			return sendFleet(s, func(hub *client.Client) (document.Done, error) {
				return client.Post(c.Context(), hub, route.ReleaseFleet(), r)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "end all rollbacks of the fleet")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newFleetRollbacks(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "rollbacks",
		Short:   "List rollbacks of the fleet that were not released",
		Example: "  fettle fleet rollbacks",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.FleetRollbacks(), showFleetRollbacks)
		},
	}
	w.Flag(c)
	return c
}

func showFleetRollbacks(s *cli.Printer, p document.FleetRollbackPage) {
	if len(p.Rollbacks) == 0 {
		s.Printf("No content is held since a rollback of the fleet.\n")
		return
	}
	rows := [][]string{}
	for _, r := range p.Rollbacks {
		rows = append(rows, []string{r.Part, render.Escape(r.State), render.Escape(r.By),
			s.Moment(r.At * int64(time.Second)), render.Escape(r.Reason)})
	}
	s.Style().Table(s.App.Stdout, []string{"PART", "STATE", "BY", "SINCE", "REASON"}, rows)
}
