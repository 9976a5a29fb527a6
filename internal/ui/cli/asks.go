//go:build !target

package cli

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
)

func newAsk(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "ask",
		Short: "Requests from agents, and their approval",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAskList(s), newAskDecide(s, "approve", "Approve a target's request"), newAskDecide(s, "refuse", "Reject a target's request"), newAskPolicy(s))
	return c
}

func newAskList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the requests of agents that wait for a decision",
		Long: `Lists the requests of agents that wait for approval. An agent can request to be
frozen, to be marked as suspect, or to get certificates for its services. It can
request this only for its own target.

The approval of a certificate is valid for exactly these names of this target,
until the approval is withdrawn. Until then, renewals need no new approval.

The policy decides which requests wait: see fettle ask policy. Without a
setting, requests wait, except for certificates with names that are not the
target's own: hubs refuse these requests.`,
		Example: "  fettle ask list\n  fettle ask list --watch",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.AskPage, error) { return hub.Asks(c.Context()) }, s.showAsks)
		},
	}
	w.flag(c)
	return c
}

func (s *session) showAsks(p document.AskPage) {
	if len(p.Asks) == 0 {
		s.printf("There are no requests.\n")
		return
	}
	rows := [][]string{}
	for _, a := range p.Asks {
		rows = append(rows, []string{a.Name, strings.Join(append([]string{string(a.What)}, a.Names...), " "), s.ago(a.At), a.Because})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "WHAT", "SINCE", "BECAUSE"}, rows)
}

func newAskDecide(s *session, how, short string) *cobra.Command {
	var d document.AskDecision
	c := &cobra.Command{
		Use:     how + " TARGET certificate|freeze|suspect",
		Short:   short,
		Example: "  fettle ask " + how + " web1 suspect\n  fettle ask " + how + " web1 certificate --name web1.example.org",
		Args:    args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, how, a[:1], func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.DecideAsk(ctx, name, a[1], how == "refuse", d)
			})
		},
	}
	c.Flags().StringVar(&d.Name, "name", "", "the certificate with this `NAME`, if the target requests several")
	c.Flags().StringVar(&d.Reason, "reason", "", "the reason that other operators see: `WHY`")
	return c
}

func newTargetSuspect(s *session) *cobra.Command {
	reason := ""
	c := selectMany(&cobra.Command{
		Use:   "suspect [TARGET…]",
		Short: "Mark targets as suspect",
		Long: `Marks targets as suspect, until fettle target trust removes the mark. Lists of
targets show the mark, metrics count it, and notifications report it. Other
targets receive the exported values of a suspect target only if no other target
exports the same output. The suspect target is still applied and may export.

A hub marks a target itself if several hosts have its identity. Such a target
gets nothing new and does not count as ready.`,
		Example: "  fettle target suspect web3 --reason 'disk errors'\n  fettle target trust web3",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "suspect", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Suspect(ctx, name, reason)
			})
		},
	})
	c.Flags().StringVar(&reason, "reason", "", "the reason that other operators see: `WHY`")
	return c
}

func newTargetTrust(s *session) *cobra.Command {
	reason := ""
	c := selectMany(&cobra.Command{
		Use:     "trust [TARGET…]",
		Short:   "Trust suspect targets again",
		Long:    "Removes the mark of suspect targets. If several hosts have the identity of a\ntarget, leave only one of these hosts running before you trust the target.\nOtherwise a hub marks the target as suspect again.",
		Example: "  fettle target trust web3 --reason 'new disk'",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "trust", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Trust(ctx, name, reason)
			})
		},
	})
	c.Flags().StringVar(&reason, "reason", "", "the reason that other operators see: `WHY`")
	return c
}

// askedDoc is what becomes of something that this machine asked for.
type askedDoc struct {
	Format string        `json:"format"`
	What   fleet.AskKind `json:"what"`
	Answer string        `json:"answer"`        // done or held
	Dir    string        `json:"dir,omitempty"` // where a certificate lies, or will
}

const askedFormat = "fettle.agent.asked/1"

// askWithin is how long a hub is looked for.
const askWithin = 30 * time.Second

type agentAskFlags struct {
	because, reload string
	names           []string
}

func newAgentAsk(s *session) *cobra.Command {
	var f agentAskFlags
	c := &cobra.Command{
		Use:   "ask certificate --name NAME… | freeze|suspect --because TEXT",
		Short: "Send a request of this machine to the hubs",
		Long: `Sends one of these requests to a hub:
  - certificate: issue a certificate for a service of this machine.
  - freeze: freeze this machine, so that nothing changes it until an operator
    unfreezes it.
  - suspect: mark this machine as suspect, so that other machines do not rely
    on it.

A machine can request this only for itself, and only users of the fleet can undo
it. The policy of the fleet decides whether a request is allowed immediately,
waits for approval, or is refused. The audit log records the decision.

A certificate is valid for the DNS names and addresses of --name. It is stored
in /etc/fettle/certificates/NAME, where NAME is the first --name. This directory
contains key.pem, certificate.pem, chain.pem and fullchain.pem. The key is
created here and never leaves this machine. Clients of the service must trust
/etc/fettle/certificates/authority.pem.

The agent renews the certificate after two thirds of its lifetime, as long as
the policy or an approval allows it. Then the unit of --reload is reloaded.
After the approval of a held request, the agent fetches the certificate
automatically.

A repeated request has no further effect. After several requests in a short
time, a hub limits the machine: for freeze and suspect to one request in ten
minutes, and for certificates to one request in five minutes.`,
		Example: "  sudo fettle agent ask certificate --name web3.example.org --reload nginx.service\n\n  sudo fettle agent ask suspect --because 'disk errors'\n  sudo fettle agent ask freeze --because 'I am being examined'",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if what := fleet.AskKind(a[0]); what != fleet.AskCertificate {
				return s.agentAsk(c.Context(), fleet.Ask{What: what, Because: f.because})
			}
			return s.agentAskCertificate(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.because, "because", "", "the reason, as a `TEXT` of one line")
	c.Flags().StringArrayVar(&f.names, "name", nil, "a DNS `NAME` or an address for the certificate; may be repeated")
	c.Flags().StringVar(&f.reload, "reload", "", "the `UNIT` to reload after the certificate is renewed")
	return c
}

func (s *session) agentAsk(ctx context.Context, a fleet.Ask) error {
	if err := a.Check(); err != nil {
		return refuse("Write: fettle agent ask suspect --because 'disk errors'", err.Error())
	}
	_, _, mb, done, err := s.enrolled()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	answer, err := mb.Ask(ctx, a)
	if errors.Is(err, fleet.ErrNoHub) {
		return withHint(fmt.Errorf("cannot request %s: %w", a.What, err), "See whether a hub can be reached: "+fmt.Sprint(mb.Hubs()))
	}
	if err != nil {
		return fmt.Errorf("cannot request %s: %w", a.What, err)
	}
	if s.json {
		return s.document(askedDoc{Format: askedFormat, What: a.What, Answer: answer.Answer})
	}
	if answer.Answer == fleet.AskHeld {
		s.printf("The request for %s waits for approval: fettle ask approve %s %s\n", a.What, mb.Name(), a.What)
		return nil
	}
	s.printf("Done: %s.\n", map[fleet.AskKind]string{fleet.AskFreeze: "this machine is frozen", fleet.AskSuspect: "this machine is marked as suspect"}[a.What])
	return nil
}
