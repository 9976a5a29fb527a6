package user

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// granting is a route that changes the grants of a user.
type granting = route.Route[route.UserName, document.GrantRequest, document.Done]

func newUserGrant(s *cli.Session) *cobra.Command {
	return grantFlags(s, "grant", route.GrantRole(), &cobra.Command{
		Use:   "grant NAME [TARGET…] --role ROLE",
		Short: "Give a user a role for some targets",
		Long: `Gives a user the role read or operate for some targets, in addition to the roles
of the user: for targets with labels, for targets of an organization, or for the
named targets. A target belongs to the grant while it matches. A named target
that is enrolled again is another target.

A user without other roles sees only the targets of the grants. Create such a
user with fettle user set NAME --role none, before fettle user login.`,
		Example: "  fettle user grant ann --role operate --label env=prod,role=web\n" +
			"  fettle user grant ann --role operate --organization acme/search\n" +
			"  fettle user grant ann web1 web2 --role operate",
	})
}

func newUserUngrant(s *cli.Session) *cobra.Command {
	return grantFlags(s, "ungrant", route.EndGrant(), &cobra.Command{
		Use:   "ungrant NAME [TARGET…] --role ROLE",
		Short: "End a grant of a user",
		Long: `Ends the grant with the same role and selection, immediately and for every
login. Jobs of the user do not start on more targets. Running commands continue,
and freezes and pins stay.`,
		Example: "  fettle user ungrant ann --role operate --label env=prod,role=web",
	})
}

// grantFlags adds the flags of a grant to a command that calls a route.
func grantFlags(s *cli.Session, did string, to granting, c *cobra.Command) *cobra.Command {
	var r document.GrantRequest
	organization := ""
	var roles, labels []string
	c.Args = cli.Args(1, -1)
	c.RunE = func(c *cobra.Command, a []string) (err error) {
		if len(roles) != 1 {
			return cli.Refuse("Use --role read or --role operate", fmt.Sprintf("cannot use %d roles for one grant", len(roles)))
		}
		r.Role, r.Targets = roles[0], a[1:]
		if r.Labels, err = labelsOf(labels); err != nil {
			return err
		}
		if c.Flags().Changed("organization") {
			r.Organization = &organization
		}
		return hubclient.EachOnHub(c.Context(), s, did, a[:1], func(hub *client.Client, name string) (document.Done, error) {
			return client.Call(c.Context(), hub, to, route.UserName{User: name}, r)
		})
	}
	c.Flags().StringSliceVar(&roles, "role", nil, "the `ROLE`: read or operate")
	c.Flags().StringSliceVar(&labels, "label", nil,
		"select targets with the label `KEY=VALUE`; separate several with commas")
	c.Flags().StringVar(&organization, "organization", "",
		"select targets of this `ORGANIZATION` (default: that of the user)")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

// labelsOf reads KEY=VALUE.
func labelsOf(words []string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	r, err := hubclient.LabelRequest(words)
	if err == nil && len(r.Remove) > 0 {
		err = cli.Refuse("Write KEY=VALUE",
			fmt.Sprintf("cannot select targets by the label %.80q without a value", r.Remove[0]))
	}
	return r.Set, err
}
