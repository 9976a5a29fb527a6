package fleet

import (
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewRequest builds the command request, to requests from agents, and their approval.
func NewRequest(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "request",
		Short: "Requests from agents, and their approval",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newRequestList(s), newRequestDecide(s, "approve", "Approve a target's request", route.ApproveRequest()),
		newRequestDecide(s, "reject", "Reject a target's request", route.RejectRequest()), newRequestPolicy(s))
	return c
}

func newRequestList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the requests of agents that wait for a decision",
		Long: `Lists the requests of agents that wait for approval. An agent can request to be
frozen, to be marked as suspect, or to get certificates for its services. It can
request this only for its own target.

The approval of a certificate is valid for exactly these names of this target,
until the approval is withdrawn. Until then, renewals need no new approval.

The policy decides which requests wait: see fettle request policy. Without a
setting, requests wait, except for certificates with names that are not the
target's own: hubs reject these requests.`,
		Example: "  fettle request list\n  fettle request list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Requests(), showRequests)
		},
	}
	w.Flag(c)
	return c
}

func showRequests(s *cli.Printer, p document.RequestPage) {
	if len(p.Requests) == 0 {
		s.Printf("There are no requests.\n")
		return
	}
	rows := [][]string{}
	for _, a := range p.Requests {
		rows = append(rows, []string{a.Name, strings.Join(append([]string{string(a.What)}, a.Names...), " "),
			hubclient.AgoText(s, a.At),
			a.Reason})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "REQUEST", "SINCE", "REASON"}, rows)
}

func newRequestDecide(s *cli.Session, how, short string,
	decide route.Route[route.TargetRequest, document.RequestDecision, document.Done]) *cobra.Command {
	var d document.RequestDecision
	c := &cobra.Command{
		Use:   how + " TARGET certificate|freeze|suspect",
		Short: short,
		Example: "  fettle request " + how + " web1 suspect\n  fettle request " + how +
			" web1 certificate --name web1.example.org",
		Args: cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.EachOnHub(c.Context(), s, how, a[:1], func(hub *client.Client, name string) (document.Done, error) {
				return client.Call(c.Context(), hub, decide, route.TargetRequest{Target: name, Request: a[1]}, d)
			})
		},
	}
	c.Flags().StringVar(&d.Name, "name", "", "the certificate with this `NAME`, if the target requests several")
	cli.ReasonFlag(c, &d.Reason)
	return c
}

func newTargetSuspect(s *cli.Session) *cobra.Command {
	reason := ""
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "suspect [TARGET…]",
		Short: "Mark targets as suspect",
		Long: `Marks targets as suspect, until fettle target trust removes the mark. Lists of
targets show the mark, metrics count it, and notifications report it. Other
targets receive the exported values of a suspect target only if no other target
exports the same output. The suspect target is still applied and may export.

A hub marks a target itself if several hosts have its identity. Such a target
gets nothing new and does not count as ready.`,
		Example: "  fettle target suspect web3 --reason 'disk errors'\n  fettle target trust web3",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return onTargets(s, c, "suspect", a, route.SuspectTarget(), document.ReasonRequest{Reason: reason})
		},
	})
	cli.ReasonFlag(c, &reason)
	return c
}

func newTargetTrust(s *cli.Session) *cobra.Command {
	reason := ""
	c := hubclient.SelectMany(&cobra.Command{
		Use:     "trust [TARGET…]",
		Short:   "Trust suspect targets again",
		Long:    "Removes the mark of suspect targets. If several hosts have the identity of a\ntarget, leave only one of these hosts running before you trust the target.\nOtherwise a hub marks the target as suspect again.",
		Example: "  fettle target trust web3 --reason 'new disk'",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return onTargets(s, c, "trust", a, route.TrustTarget(), document.ReasonRequest{Reason: reason})
		},
	})
	cli.ReasonFlag(c, &reason)
	return c
}
