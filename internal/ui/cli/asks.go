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
	c.AddCommand(newAskList(s), newAskDecide(s, "approve", "Do what a target asked for"), newAskDecide(s, "refuse", "Do not what a target asked for"), newAskPolicy(s))
	return c
}

func newAskList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the requests of agents that wait for a decision",
		Long: `An agent can ask to be frozen, to be marked as suspect, and for certificates for its services,
for nobody but itself. Who approves a certificate does so for these names of this target, until
that is taken back: it is renewed without asking again. What
becomes of that says fettle ask policy; without a word there it waits here.`,
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
		s.printf("Nobody asks for anything.\n")
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
	c.Flags().StringVar(&d.Name, "name", "", "the certificate that has this `NAME`, where the target asks for several")
	c.Flags().StringVar(&d.Reason, "reason", "", "say `WHY`, for the others")
	return c
}

func newTargetSuspect(s *session) *cobra.Command {
	reason := ""
	c := selectMany(&cobra.Command{
		Use:   "suspect [TARGET…]",
		Short: "Mark targets as suspect",
		Long: `A suspect is shown as one, counted in the metrics, and told by notifications. What it exports
is given to others only where nobody else exports it. Otherwise it stays what it is: it is
applied to and may export, until fettle target trust. A hub marks a target itself if several hosts
have its identity; such a target gets nothing new and does not count as ready.`,
		Example: "  fettle target suspect web3 --reason 'disk errors'\n  fettle target trust web3",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "suspect", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Suspect(ctx, name, reason)
			})
		},
	})
	c.Flags().StringVar(&reason, "reason", "", "say `WHY`, for the others")
	return c
}

func newTargetTrust(s *session) *cobra.Command {
	reason := ""
	c := selectMany(&cobra.Command{
		Use:     "trust [TARGET…]",
		Short:   "Trust suspect targets again",
		Long:    "If several hosts have the identity of a target, leave only one of them running before you trust\nthe target. Otherwise a hub marks it as suspect again.",
		Example: "  fettle target trust web3 --reason 'new disk'",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "trust", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Trust(ctx, name, reason)
			})
		},
	})
	c.Flags().StringVar(&reason, "reason", "", "say `WHY`, for the others")
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
		Long: `Asks a hub for a certificate for a service of this machine, to freeze this machine, so that
nothing changes it until somebody has looked, or to mark it as suspect, one that others should
not rely on. A machine can ask for nobody but itself, and only people of the fleet take it
back. Whether it is done at once, waits for somebody or is refused says the policy of the
fleet; it is in the audit log.

A certificate is for the names in DNS and the addresses of --name, and lies in
/etc/fettle/certificates/NAME, of the first of them: key.pem, certificate.pem, chain.pem and
fullchain.pem. The key is made here and never leaves. authority.pem beside it is what those who
connect have to trust. The agent renews it at two thirds of its life, as long as that is
allowed, and has the unit of --reload read it then. What is held comes by itself when somebody
approved it.

Asking for the same again changes nothing. A machine that asks again and again is heard
once in ten minutes.`,
		Example: "  sudo fettle agent ask certificate --name web3.example.org --reload nginx.service\n  sudo fettle agent ask suspect --because 'disk errors'\n  sudo fettle agent ask freeze --because 'I am being examined'",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if what := fleet.AskKind(a[0]); what != fleet.AskCertificate {
				return s.agentAsk(c.Context(), fleet.Ask{What: what, Because: f.because})
			}
			return s.agentAskCertificate(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.because, "because", "", "say why, in a `TEXT` of one line")
	c.Flags().StringArrayVar(&f.names, "name", nil, "a `NAME` in DNS or an address for the certificate; may be repeated")
	c.Flags().StringVar(&f.reload, "reload", "", "the `UNIT` that is to read a renewed certificate")
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
		return withHint(fmt.Errorf("cannot ask for %s: %w", a.What, err), "See whether a hub can be reached: "+fmt.Sprint(mb.Hubs()))
	}
	if err != nil {
		return fmt.Errorf("cannot ask for %s: %w", a.What, err)
	}
	if s.json {
		return s.document(askedDoc{Format: askedFormat, What: a.What, Answer: answer.Answer})
	}
	if answer.Answer == fleet.AskHeld {
		s.printf("The hub was asked for %s. It waits for somebody: fettle ask approve %s %s\n", a.What, mb.Name(), a.What)
		return nil
	}
	s.printf("It is done: %s.\n", map[fleet.AskKind]string{fleet.AskFreeze: "this machine is frozen", fleet.AskSuspect: "this machine is marked as suspect"}[a.What])
	return nil
}
