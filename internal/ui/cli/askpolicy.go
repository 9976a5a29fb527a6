//go:build !target

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newAskPolicy(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show the policies for requests of agents",
		Long: `Shows how hubs answer requests of agents. hold: a request waits until an
operator approves or refuses it. allow: it is allowed immediately. refuse: it is
always refused. All hubs of the fleet use the same policy, and backups contain
it.`,
		Example: "  fettle ask policy\n  fettle ask policy set suspect allow",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.AskPolicy, error) { return hub.AskPolicy(c.Context()) }, s.showAskPolicy)
		},
	}
	w.flag(c)
	c.AddCommand(newAskPolicySet(s))
	return c
}

func (s *session) showAskPolicy(p document.AskPolicy) {
	rows := [][]string{}
	for _, what := range []fleet.AskKind{fleet.AskFreeze, fleet.AskSuspect} {
		rows = append(rows, []string{string(what), string(p.Answers[what])})
	}
	s.style().Table(s.app.Stdout, []string{"ASKED FOR", "IS"}, rows)
	rows = [][]string{}
	for _, r := range p.Certificates {
		rows = append(rows, []string{strings.Join(r.Select, " "), strings.Join(r.Names, " "), string(r.Answer)})
	}
	rows = append(rows, []string{"all others", "their own", string(fleet.Hold)}, []string{"all others", "all others", string(fleet.Refuse)})
	s.printf("\n")
	s.style().Table(s.app.Stdout, []string{"CERTIFICATES OF", "FOR NAMES", "IS"}, rows)
	if p.Changed > 0 {
		s.printf("\nChanged %s ago by %s\n", s.ago(p.Changed), p.By)
	}
}

const askPolicySetLong = `Sets how hubs answer requests of agents to be frozen, to be marked as suspect,
or to get certificates for services.

Certificates have rules. -t selects targets by name and label. Each --name is
one of these patterns:
  - a DNS name, in which * matches one label;
  - an address, or a network such as 192.0.2.0/24;
  - @own, the name of the target itself.

For each requested name, the first rule that matches the target and the name
decides. The strictest answer of all requested names counts. Without a rule, a
request for the target's own name is held, and any other name is refused.

If a user approves a held request, exactly these names of this target are
allowed until the approval is withdrawn. To change the answer of a rule, set it
again with the same selection and names. --remove deletes the rule.

Select targets by labels: tokens and users assign labels, but a host chooses its
name within the limits of its token.`

func newAskPolicySet(s *session) *cobra.Command {
	var r document.AskPolicyRequest
	remove := false
	c := selectMany(&cobra.Command{
		Use:     "set freeze|suspect|certificate hold|allow|refuse [-t SELECTION --name PATTERN…]",
		Short:   "Set a policy for requests of agents, on all hubs",
		Long:    askPolicySetLong,
		Example: "  fettle ask policy set suspect allow\n\n  fettle ask policy set certificate allow -t label:role=web --name '*.web.example.org'\n  fettle ask policy set certificate --remove -t label:role=web --name '*.web.example.org'",
		Args:    args(1, 2),
		RunE: func(c *cobra.Command, a []string) error {
			r.What = fleet.AskKind(a[0])
			if remove != (len(a) == 1) || remove && r.What != fleet.AskCertificate {
				return refuse("See: fettle ask policy set --help", "cannot set the policy: specify hold, allow or refuse, or --remove for a rule of certificates")
			}
			if len(a) == 2 {
				r.Answer = fleet.Verdict(a[1])
			}
			words, err := s.selectedOnHub()
			if err != nil {
				return err
			}
			r.Select = words
			hub, err := s.hub()
			if err != nil {
				return err
			}
			d, err := hub.SetAskPolicy(c.Context(), r)
			if err != nil {
				return err
			}
			return s.done("ask policy set", 0, d.Text)
		},
	})
	c.Flags().StringArrayVar(&r.Names, "name", nil, "the names of certificates that match this `PATTERN`; may be repeated")
	c.Flags().BoolVar(&r.First, "first", false, "put the rule before all other rules")
	c.Flags().BoolVar(&remove, "remove", false, "delete the rule")
	return c
}
