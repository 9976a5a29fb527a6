// Package user builds the commands about users of the hub and their login tokens.
//
//	root.AddCommand(user.New(session)) // fettle user set, grant, list, login, logins and revoke
package user

import (
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// New builds the command user, about users of the hub.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "user",
		Short: "Users of the hub",
		Long: `Manages users and their roles. Users log in to the hub from other hosts; root on
the hub needs no user. The roles:

  read      see the state, the history and drift
  operate   run commands and jobs; pin and freeze targets
  approve   admit targets; decide blocked changes, rollouts, requests of agents
  admin     all of these; manage tokens, labels, users; retire and revoke

A role is for all targets of the organization of the user. A grant gives the
role read or operate for some of them.`,
		Example: "  fettle user set ann --role operate\n  fettle user login ann >ann.login",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newUserSet(s), newUserLogin(s), newUserLogins(s), newUserRevoke(s), newUserList(s),
		newUserShow(s), newUserGrant(s), newUserUngrant(s))
	return c
}

func newUserSet(s *cli.Session) *cobra.Command {
	var r document.UserRequest
	organization := ""
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Create a user, or change the rights of a user",
		Long: "Creates a user, or changes one. The given settings replace all previous settings\n" +
			"of the user, immediately and for every login. The organization changes only with\n" +
			"--organization, which ends all logins and grants of the user.",
		Example: "  fettle user set ann --role operate,approve --groups dba\n" +
			"  fettle user set ann --role operate --organization acme\n  fettle user set ann --role read --locked",
		Args: cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			r.Name = a[0]
			if c.Flags().Changed("organization") {
				r.Organization = &organization
			}
			return hubclient.EachOnHub(c.Context(), s, "set", a, func(hub *client.Client, _ string) (document.Done, error) {
				return client.Post(c.Context(), hub, route.SetUser(), r)
			})
		},
	}
	c.Flags().StringSliceVar(&r.Roles, "role", nil,
		"give the user this `ROLE`: read, operate, approve or admin; separate several with commas; or none")
	c.Flags().StringSliceVar(&r.Groups, "groups", nil,
		"`GROUPS` of this user, whose members may approve rollouts; separate several with commas")
	c.Flags().StringVar(&organization, "organization", "",
		"limit the user to this `ORGANIZATION`, such as acme/search; '' is the whole fleet")
	c.Flags().BoolVar(&r.Locked, "locked", false, "lock the user out")
	return c
}

func newUserList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the users of the hub",
		Example: "  fettle user list",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Users(), showUsers)
		},
	}
	w.Flag(c)
	return c
}

func showUsers(s *cli.Printer, p document.UserPage) {
	if len(p.Users) == 0 {
		s.Printf("There are no users. Create one: fettle user set NAME --role ROLE\n")
		return
	}
	rows := [][]string{}
	for _, k := range p.Users {
		is := "open"
		if k.Locked {
			is = "locked"
		}
		roles := strings.Join(k.Roles, ",")
		if n := len(k.Grants); n > 0 {
			roles = strings.TrimSpace(roles + " +" + render.Count(n, "grant"))
		}
		rows = append(rows, []string{k.Name, is, roles, strings.Join(k.Groups, ","),
			k.Organization, s.Moment(k.Changed), k.By})
	}
	s.Style().Table(s.App.Stdout, []string{"USER", "STATE", "ROLES", "GROUPS", "ORGANIZATION", "CHANGED", "BY"}, rows)
}
