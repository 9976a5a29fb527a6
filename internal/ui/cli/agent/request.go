package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/ui/cli"
)

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
		Example: "  sudo fettle agent request certificate --name web3.example.org --reload nginx.service\n\n" +
			"  sudo fettle agent request suspect --reason 'disk errors'\n" +
			"  sudo fettle agent request freeze --reason 'I am being examined'",
		Args: cli.Args(1, 1),
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
