package environment

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newFollow(s *cli.Session) *cobra.Command {
	var r document.EnvironmentRuleRequest
	var keep time.Duration
	var modules string
	c := &cobra.Command{
		Use:   "follow RULE PATTERN",
		Short: "Create an environment for each branch that matches a pattern",
		Long: `Creates or replaces a rule. The hub creates an environment for each branch
that matches the pattern, and ends it some time after the branch is deleted. An
environment gets targets of -t that are free: members of the parent, without a
pin and without another such environment.

The pattern has one *, which matches no slash. The environment of review/7 has
the name RULE-7 if the pattern is review/*. Capital letters become lower-case
letters, and other signs become hyphens. Only branches of the followed
repository count, and not proposals from forks.`,
		Example: "  fettle environment follow review 'review/*' --from staging -t 'review-*'\n" +
			"  fettle environment follow review 'review/*' --from staging -t 'review-*' --each 2 --keep 1d --var replicas=1",
		Args: cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) (err error) {
			if r.Parent == "" || len(s.Words) == 0 {
				return cli.Refuse("See the examples: fettle environment follow --help", "a rule needs --from and -t")
			}
			if r.Vars, err = s.Variables(); err != nil {
				return err
			}
			if modules != "" {
				r.Modules = strings.Split(modules, ",")
			}
			r.Name, r.Branches, r.Select, r.Keep = a[0], a[1], s.Words, int64(keep)
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Post(c.Context(), hub, route.FollowBranches(), r)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Parent, "from", "", "the `ENVIRONMENT` of the repository that has the targets")
	f.StringVar(&modules, "module", "", "let only the `MODULE` follow the branch, or several with commas between them")
	cli.NumberVar(f, &r.Each, "each", 1, 1, "give each environment this `NUMBER` of targets")
	cli.NumberVar(f, &r.Max, "max", 10, 1, "create up to this `NUMBER` of environments at the same time")
	cli.DurationVar(f, &keep, "keep", time.Hour, "end an environment this `DURATION` after its branch is deleted")
	c.Annotations = map[string]string{cli.ManyMark: "true"}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newUnfollow(s *cli.Session) *cobra.Command {
	var r document.ReasonRequest
	c := &cobra.Command{
		Use:   "unfollow RULE",
		Short: "Remove a rule, and end its environments",
		Long: "Removes a rule that creates environments for branches. Its environments end at\n" +
			"once. The same command again changes nothing.",
		Example: "  fettle environment unfollow review",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.UnfollowBranches(), route.EnvironmentRuleName{Rule: a[0]}, r)
			})
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newRules(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "rules",
		Short:   "List rules that create environments for branches",
		Long:    "Lists rules, their environments, and branches that wait for an environment.",
		Example: "  fettle environment rules",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.EnvironmentRules(), showRules)
		},
	}
	w.Flag(c)
	return c
}

func showRules(s *cli.Printer, p document.EnvironmentRulePage) {
	if len(p.Rules) == 0 {
		s.Printf("There are no rules. To create one: fettle environment follow --help\n")
		return
	}
	rows := [][]string{}
	for _, r := range p.Rules {
		rows = append(rows, []string{r.Name, render.Escape(r.Branches), render.Escape(r.Parent),
			render.Escape(fmt.Sprintf("%d of %s", r.Each, strings.Join(r.Select, ", "))),
			fmt.Sprintf("%d of %d", len(r.Environments), r.Max), fmt.Sprint(len(r.Waiting)), render.Escape(r.By),
			render.Escape(r.Reason)})
	}
	s.Style().Table(s.App.Stdout,
		[]string{"RULE", "BRANCHES", "FROM", "TARGETS", "ENVIRONMENTS", "WAITING", "BY", "REASON"}, rows)
	for _, r := range p.Rules {
		switch {
		case r.Error != "":
			s.Printf("%s: its environments do not change, because the branches cannot be read: %s\n", r.Name,
				render.Escape(r.Error))
		case !r.Polled:
			s.Printf("%s: the leading hub has not read the branches yet\n", r.Name)
		}
		for _, w := range r.Waiting {
			s.Printf("%s: %s has no environment: %s\n", r.Name, render.Escape(w.Branch), render.Escape(w.Why))
		}
	}
}
