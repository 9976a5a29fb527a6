// Package environment builds the commands about environments that operators create for a limited time.
//
//	root.AddCommand(environment.New(session)) // fettle environment create, list, show, extend and remove
package environment

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
)

// New builds the command environment.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "environment",
		Short: "Environments of a branch, for some targets and a limited time",
		Long: `Creates and removes environments for some targets and a limited time, for
example to review a branch. The targets follow the branch, and the other targets
do not change: docs/scopes.md. Environments of the repository are scopes: see
fettle scope list.`,
		Example: "  fettle environment list",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCreate(s), newList(s), newShow(s), newExtend(s), newRemove(s), newFollow(s), newUnfollow(s),
		newRules(s))
	return c
}

func newCreate(s *cli.Session) *cobra.Command {
	var r document.EnvironmentRequest
	var expires time.Duration
	var modules string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an environment from members of another one",
		Long: `Creates an environment. Its targets follow a branch or tag, until the
environment expires after at most 30 days, or is removed. Then they return.
With --module, only these modules follow the branch.

The targets must be members of the parent, without a pin and without another
such environment. The limit on pinned targets counts them. The same command
again changes nothing.

The environment has its own name, variables and public name for its targets.
Its variables override the variables of the parent. They are not secret: each
user with the right read can see them. A variable that no module declares, or
that is an error on one of the targets, is refused. Checks of the parent with
branches = true also test the new environment.`,
		Example: "  fettle environment create review-7 --from staging --branch fix-7 -t st-2 --expires 3d\n" +
			"  fettle environment create review-7 --from staging --branch fix-7 -t st-2 --expires 3d --var replicas=1\n" +
			"  fettle environment create tls --from staging --branch tls -t st-3 --module nginx --expires 4h",
		Args: cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if expires == 0 || r.Parent == "" || r.Branch == "" || len(s.Words) == 0 {
				return cli.Refuse("See the examples: fettle environment create --help",
					"an environment needs --from, --branch, -t and --expires")
			}
			r.Name, r.Select, r.For = a[0], s.Words, int64(expires)
			var err error
			if r.Vars, err = s.Variables(); err != nil {
				return err
			}
			if modules != "" {
				r.Modules = strings.Split(modules, ",")
			}
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Post(c.Context(), hub, route.CreateEnvironment(), r)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Parent, "from", "", "the `ENVIRONMENT` of the repository that has the targets")
	f.StringVar(&r.Branch, "branch", "", "the `BRANCH` or tag that the targets follow")
	f.StringVar(&modules, "module", "", "let only the `MODULE` follow the branch, or several with commas between them")
	f.StringVar(&r.Domain, "domain", "", "the public `NAME`; default: the name of the environment below the parent's")
	c.Annotations = map[string]string{cli.ManyMark: "true"}
	cli.ExpiresFlag(c, &expires, 0, "end after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newExtend(s *cli.Session) *cobra.Command {
	var r document.EnvironmentExtension
	var expires time.Duration
	c := &cobra.Command{
		Use:   "extend NAME",
		Short: "Set another end of an environment",
		Long: "Sets another end of an environment, from now. It can be earlier than the\n" +
			"present one.",
		Example: "  fettle environment extend review-7 --expires 2d --reason 'the review takes longer'",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			r.For = int64(expires)
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.ExtendEnvironment(), route.EnvironmentName{Environment: a[0]}, r)
			})
		},
	}
	cli.ExpiresFlag(c, &expires, 24*time.Hour, "end after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newRemove(s *cli.Session) *cobra.Command {
	var r document.ReasonRequest
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an environment; its targets return to the parent",
		Long: "Removes an environment. Its targets return to the parent at once. The same\n" +
			"command again changes nothing.",
		Example: "  fettle environment remove review-7 --reason 'the branch is merged'",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Call(c.Context(), hub, route.RemoveEnvironment(), route.EnvironmentName{Environment: a[0]}, r)
			})
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}
