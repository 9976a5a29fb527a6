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
		Long: `What agents ask for is held until somebody approves or refuses it, allowed at once, or
refused always. The policy is the fleet's: all hubs answer by it, and it is in their backup.`,
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

const askPolicySetLong = `For certificates of services there are rules: -t selects targets by name and label, and --name
gives names in DNS, with * for a whole label, addresses, networks as 192.0.2.0/24, or @own for
the target's own name. Of each name that a target asks for, the first rule that means both says
what becomes of it, and the worst of all names counts. Without a rule a target's own name is
held, and everything else is refused.

What is held and approved by a person is allowed for exactly these names of that target from
then on, until it is taken back. The same selection and names again change the answer of the
rule; --remove takes it away. Select by labels: they come from tokens and from people, while a
host chooses its name within what its token allows.`

func newAskPolicySet(s *session) *cobra.Command {
	var r document.AskPolicyRequest
	remove := false
	c := selectMany(&cobra.Command{
		Use:     "set freeze|suspect|certificate hold|allow|refuse [-t SELECTION --name PATTERN…]",
		Short:   "Set a policy for requests of agents, on all hubs",
		Long:    askPolicySetLong,
		Example: "  fettle ask policy set suspect allow\n  fettle ask policy set certificate allow -t label:role=web --name '*.web.example.org'\n  fettle ask policy set certificate --remove -t label:role=web --name '*.web.example.org'",
		Args:    args(1, 2),
		RunE: func(c *cobra.Command, a []string) error {
			r.What = fleet.AskKind(a[0])
			if remove != (len(a) == 1) || remove && r.What != fleet.AskCertificate {
				return refuse("See: fettle ask policy set --help", "cannot tell what is to become of it: say one of hold, allow and refuse, or --remove a rule for certificates")
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
	c.Flags().StringArrayVar(&r.Names, "name", nil, "the names of certificates, as a `PATTERN`; may be repeated")
	c.Flags().BoolVar(&r.First, "first", false, "put the rule before the others")
	c.Flags().BoolVar(&remove, "remove", false, "take the rule away")
	return c
}
