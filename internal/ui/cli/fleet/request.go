package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
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

// AgentRequestDoc is the answer to a request of this machine.
type AgentRequestDoc struct {
	Format string            `json:"format"`
	What   fleet.RequestKind `json:"what"`
	Answer string            `json:"answer"`        // done or pending
	Dir    string            `json:"dir,omitempty"` // the directory of the certificate, now or after the approval
}

const agentRequestFormat = "fettle.agent.requested/1"

// requestTimeout limits the search for a hub.
const requestTimeout = 30 * time.Second

type agentRequestFlags struct {
	reason, reload string
	names          []string
}

func newAgentRequest(s *cli.Session) *cobra.Command {
	var f agentRequestFlags
	c := &cobra.Command{
		Use:   "request certificate --name NAME… | freeze|suspect --reason TEXT",
		Short: "Send a request of this host to the hubs",
		Long: `Sends one of these requests to a hub:
  - certificate: issue a certificate for a service of this host.
  - freeze: freeze this host, so that nothing changes it until an operator
    unfreezes it.
  - suspect: mark this host as suspect, so that other hosts do not rely
    on it.

A host can request this only for itself, and only users of the fleet can undo
it. The policy of the fleet decides whether a request is allowed immediately,
waits for approval, or is rejected. The audit log records the decision.

A certificate is valid for the DNS names and addresses of --name. It is stored
in /etc/fettle/certificates/NAME, where NAME is the first --name. This directory
contains key.pem, certificate.pem, chain.pem and fullchain.pem. The key is
created here and never leaves this host. Clients of the service must trust
/etc/fettle/certificates/authority.pem.

The agent renews the certificate after two thirds of its lifetime, as long as
the policy or an approval allows it. Then the unit of --reload is reloaded.
After the approval of a pending request, the agent fetches the certificate
automatically.

A repeated request has no further effect. After several requests in a short
time, a hub limits the host: for freeze and suspect to one request in ten
minutes, and for certificates to one request in five minutes.`,
		Example: "  sudo fettle agent request certificate --name web3.example.org --reload nginx.service\n\n  sudo fettle agent request suspect --reason 'disk errors'\n  sudo fettle agent request freeze --reason 'I am being examined'",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if what := fleet.RequestKind(a[0]); what != fleet.RequestCertificate {
				return agentRequest(c.Context(), s, fleet.Request{What: what, Reason: f.reason})
			}
			return requestCertificate(c.Context(), s, f)
		},
	}
	c.Flags().StringVar(&f.reason, "reason", "", "the reason, as a `TEXT` of one line")
	c.Flags().StringArrayVar(&f.names, "name", nil, "a DNS `NAME` or an address for the certificate; may be repeated")
	c.Flags().StringVar(&f.reload, "reload", "", "the `UNIT` to reload after the certificate is renewed")
	return c
}

func agentRequest(ctx context.Context, s *cli.Session, a fleet.Request) error {
	if err := a.Check(); err != nil {
		return cli.Refuse("Write: fettle agent request suspect --reason 'disk errors'", err.Error())
	}
	_, _, mb, done, err := openEnrolled(s)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := mb.Request(ctx, a)
	if errors.Is(err, fleet.ErrNoHub) {
		return cli.WithHint(fmt.Errorf("cannot request %s: %w", a.What, err),
			"See whether a hub can be reached: "+fmt.Sprint(mb.Hubs()))
	}
	if err != nil {
		return fmt.Errorf("cannot request %s: %w", a.What, err)
	}
	if s.JSON {
		return s.Document(AgentRequestDoc{Format: agentRequestFormat, What: a.What, Answer: answer.Answer})
	}
	if answer.Answer == fleet.RequestPending {
		s.Printf("The request for %s waits for approval: fettle request approve %s %s\n", a.What, mb.Name(), a.What)
		return nil
	}
	s.Printf("Done: %s.\n", map[fleet.RequestKind]string{fleet.RequestFreeze: "this host is frozen",
		fleet.RequestSuspect: "this host is marked as suspect"}[a.What])
	return nil
}
