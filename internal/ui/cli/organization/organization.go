// Package organization builds the commands about organizations: their limits, freezes and approvals.
//
//	root.AddCommand(organization.New(session)) // fettle organization list, show, freeze, unfreeze, approve and reject
package organization

import (
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// New builds the command organization.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "organization",
		Short: "Organizations: users with a part of the fleet",
		Long: `Shows organizations with their limits, freezes them, and approves rollouts for
them. A path such as acme/search names an organization below acme. Its targets
have the limits of both. The repository declares limits: docs/organizations.md.`,
		Example: "  fettle organization list",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newList(s), newShow(s), newFreeze(s), newUnfreeze(s), newApprove(s), newReject(s))
	return c
}

func newFreeze(s *cli.Session) *cobra.Command {
	var r document.FreezeRequest
	var expires time.Duration
	c := &cobra.Command{
		Use:   "freeze ORGANIZATION",
		Short: "Freeze all targets of an organization",
		Long: `Freezes all targets of an organization and of those below it, including targets
that join later. The agents change nothing, as after "fettle target freeze". A
second freeze replaces the reason and the end of the first. A target is frozen
as long as one freeze applies: its own, that of an organization on its path, or
that of the fleet.`,
		Example: "  fettle organization freeze acme --reason 'migration until noon' --expires 3h",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if r.For = int64(expires); r.Reason == "" {
				return cli.Refuse("Give one for the other users: --reason TEXT", "cannot freeze an organization without a reason")
			}
			return send(s, "freeze", func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.FreezeOrganization(), named(a), r)
			})
		},
	}
	cli.ExpiresFlag(c, &expires, 0, "end the freeze (default: never) after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newUnfreeze(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "unfreeze ORGANIZATION",
		Short: "End the freeze of an organization",
		Long: `Ends the freeze that a user ordered for this organization. Freezes of the
repository, of other organizations and of single targets remain.`,
		Example: "  fettle organization unfreeze acme",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return send(s, "unfreeze", func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.UnfreezeOrganization(), named(a), document.ReasonRequest{})
			})
		},
	}
}

func newApprove(s *cli.Session) *cobra.Command {
	var r document.OrganizationApprovalRequest
	c := &cobra.Command{
		Use:   "approve ORGANIZATION ROLLOUT",
		Short: "Approve a rollout for the targets of an organization",
		Long: `Approves a rollout for an organization with approvals in the repository. If an
organization on the path of a target requires approvals, the target gets the
change after all of them. A user counts once on a path.`,
		Example: "  fettle organization approve acme r7 --reason 'tested in staging'",
		Args:    cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			r.Rollout = a[1]
			return send(s, "approve", func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.ApproveOrganization(), named(a), r)
			})
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newReject(s *cli.Session) *cobra.Command {
	var r document.OrganizationApprovalRequest
	c := &cobra.Command{
		Use:   "reject ORGANIZATION ROLLOUT --reason WHY",
		Short: "Reject a rollout for the targets of an organization",
		Long: `Rejects a rollout for an organization with approvals in the repository. The
approvals of the organization no longer count, and its targets that do not have
the change wait until users approve the rollout again. Other targets get the
change.`,
		Example: "  fettle organization reject acme r7 --reason 'the audit is not over'",
		Args:    cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			r.Rollout = a[1]
			return send(s, "reject", func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.RejectOrganization(), named(a), r)
			})
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func send(s *cli.Session, did string, do func(*client.Client) (document.Done, error)) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := do(hub)
	if err != nil {
		return err
	}
	return s.Done(did, 0, d.Text)
}
