package user

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
)

func newUserLogin(s *cli.Session) *cobra.Command {
	var expires time.Duration
	note := ""
	c := &cobra.Command{
		Use:   "login NAME",
		Short: "Create a login token for a user",
		Long: "Creates a login token and prints it once: no hub stores it. The user passes it\n" +
			"to fettle login on their workstation.",
		Example: "  fettle user login ann --expires 30d >ann.login",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			l, err := client.Call(c.Context(), hub, route.CreateLogin(), route.UserName{User: a[0]},
				document.LoginRequest{Expires: int64(expires), Note: note})
			if err != nil {
				return err
			}
			if s.JSON {
				return s.Document(l)
			}
			fmt.Fprintf(s.App.Stderr, "Login token of %s, valid until %s. It is shown only once:\n", l.Name,
				s.Moment(l.Expires))
			s.Printf("%s\n", l.Secret)
			return nil
		},
	}
	cli.ExpiresFlag(c, &expires, 90*24*time.Hour, "expire after this")
	c.Flags().StringVar(&note, "note", "", "record `TEXT` as the purpose of the token")
	return c
}

func newUserLogins(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "logins NAME",
		Short:   "List the login tokens of a user",
		Example: "  fettle user logins ann",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Logins(), route.UserName{User: a[0]}, showLogins)
		},
	}
	w.Flag(c)
	return c
}

func showLogins(s *cli.Printer, p document.LoginPage) {
	if len(p.Logins) == 0 {
		s.Printf("The user has no login tokens. Create one: fettle user login NAME\n")
		return
	}
	rows := [][]string{}
	for _, l := range p.Logins {
		is := "open"
		switch {
		case l.Revoked > 0:
			is = "revoked"
		case l.Expires <= s.App.Now().UnixNano():
			is = "expired"
		}
		rows = append(rows, []string{l.ID, is, strings.Join(l.Roles, ","), s.Moment(l.Made), l.By, s.Moment(l.Expires),
			l.Note})
	}
	s.Style().Table(s.App.Stdout, []string{"LOGIN", "STATE", "ROLES", "CREATED", "BY", "EXPIRES", "NOTE"}, rows)
}

func newUserRevoke(s *cli.Session) *cobra.Command {
	reason, yes := "", false
	c := &cobra.Command{
		Use:   "revoke NAME LOGIN…",
		Short: "Revoke login tokens of a user",
		Long: "Revokes login tokens, immediately and at every hub. This cannot be undone. Other\n" +
			"logins of the user stay valid. The name of a login is the beginning of its\n" +
			"token. To lock out a user with all logins: fettle user set NAME --locked.",
		Example: "  fettle user revoke ann fettle-api-k3m7q2xa --reason 'laptop was stolen'",
		Args:    cli.Args(2, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := cli.AskBefore(c.Context(), s, yes, "Revoke "+strings.Join(a[1:], ", ")+"?"); err != nil {
				return err
			}
			return hubclient.EachOnHub(c.Context(), s, "revoke", a[1:],
				func(hub *client.Client, id string) (document.Done, error) {
					return client.Call(c.Context(), hub, route.RevokeLogin(), route.LoginID{User: a[0], Login: id},
						document.ReasonRequest{Reason: reason})
				})
		},
	}
	cli.ReasonFlag(c, &reason)
	cli.YesFlag(c, &yes)
	return c
}
