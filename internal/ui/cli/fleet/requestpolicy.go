package fleet

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newRequestPolicy(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show the policies for requests of agents",
		Long: `Shows how hubs answer requests of agents. hold: a request waits until an
operator approves or rejects it. allow: it is allowed immediately. reject: it is
always rejected. All hubs of the fleet use the same policy, and backups contain
it.`,
		Example: "  fettle request policy\n  fettle request policy set suspect allow",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.RequestPolicy(), showRequestPolicy)
		},
	}
	w.Flag(c)
	c.AddCommand(newRequestPolicySet(s), newRequestPolicyDelete(s))
	return c
}

func showRequestPolicy(s *cli.Printer, p document.RequestPolicy) {
	rows := [][]string{}
	for _, what := range []fleet.RequestKind{fleet.RequestFreeze, fleet.RequestSuspect} {
		rows = append(rows, []string{string(what), string(p.Answers[what])})
	}
	s.Style().Table(s.App.Stdout, []string{"REQUEST", "ANSWER"}, rows)
	rows = [][]string{}
	for _, r := range p.Certificates {
		rows = append(rows, []string{strings.Join(r.Select, " "), strings.Join(r.Names, " "), string(r.Answer)})
	}
	rows = append(rows, []string{"all others", "their own", string(fleet.Hold)},
		[]string{"all others", "all others", string(fleet.Reject)})
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"TARGETS", "CERTIFICATE NAMES", "ANSWER"}, rows)
	if p.Changed > 0 {
		s.Printf("\nChanged %s ago by %s\n", hubclient.AgoText(s, p.Changed), p.By)
	}
}

const requestPolicySetLong = `Sets how hubs answer requests of agents to be frozen, to be marked as suspect,
or to get certificates for services.

Certificates have rules. -t selects targets by name and label. Each --name is
one of these patterns:
  - a DNS name, in which * matches one label;
  - an address, or a network such as 192.0.2.0/24;
  - @own, the name of the target itself.

For each requested name, the first rule that matches the target and the name
decides. The strictest answer of all requested names counts. Without a rule, a
request for the target's own name is pending, and any other name is rejected.

If a user approves a pending request, exactly these names of this target are
allowed until the approval is withdrawn. To change the answer of a rule, set it
again with the same selection and names.

Select targets by labels: tokens and users assign labels, but a host chooses its
name within the limits of its token.`

func newRequestPolicySet(s *cli.Session) *cobra.Command {
	var r document.RequestPolicyChange
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "set freeze|suspect|certificate hold|allow|reject [-t SELECTION --name PATTERN…]",
		Short: "Set a policy for requests of agents, on all hubs",
		Long:  requestPolicySetLong,
		Example: `  fettle request policy set suspect allow

  fettle request policy set certificate allow -t label:role=web --name '*.web.example.org'`,
		Args: cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			r.What, r.Answer = fleet.RequestKind(a[0]), fleet.Verdict(a[1])
			return changeRequestPolicy(c.Context(), s, "request policy set", r)
		},
	})
	policyNamesFlag(c, &r.Names)
	c.Flags().BoolVar(&r.First, "first", false, "put the rule before all other rules")
	return c
}

func newRequestPolicyDelete(s *cli.Session) *cobra.Command {
	r := document.RequestPolicyChange{What: fleet.RequestCertificate}
	yes := false
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "delete certificate -t SELECTION --name PATTERN…",
		Short: "Delete a rule for certificates, on all hubs",
		Long: `Deletes the rule with exactly this selection and these names. The next rule that
matches decides requests for certificates then.`,
		Example: "  fettle request policy delete certificate -t label:role=web --name '*.web.example.org'",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if fleet.RequestKind(a[0]) != fleet.RequestCertificate {
				return cli.Refuse("Set another answer: fettle request policy set "+a[0]+" hold",
					"cannot delete the policy: only certificates have rules")
			}
			if err := cli.AskBefore(c.Context(), s, yes, "Delete the rule for "+strings.Join(r.Names, " ")+"?"); err != nil {
				return err
			}
			return changeRequestPolicy(c.Context(), s, "request policy delete", r)
		},
	})
	policyNamesFlag(c, &r.Names)
	cli.YesFlag(c, &yes)
	return c
}

func policyNamesFlag(c *cobra.Command, names *[]string) {
	c.Flags().StringArrayVar(names, "name", nil, "the names of certificates that match this `PATTERN`; may be repeated")
}

// changeRequestPolicy applies r to the targets of -t. Without an answer, the hub deletes the rule.
func changeRequestPolicy(ctx context.Context, s *cli.Session, did string, r document.RequestPolicyChange) (err error) {
	if r.Select, err = hubclient.SelectedOnHub(s); err != nil {
		return err
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := client.Post(ctx, hub, route.SetRequestPolicy(), r)
	if err != nil {
		return err
	}
	return s.Done(did, 0, d.Text)
}
