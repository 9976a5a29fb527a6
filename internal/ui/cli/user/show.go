package user

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newUserShow(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show the roles and grants of a user",
		Long: `Shows the organization, the roles and the grants of a user. Without a name, it
shows your rights with the present login.`,
		Example: "  fettle user show\n  fettle user show ann",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			if len(a) == 0 {
				return showCurrent(c.Context(), s, hub)
			}
			p, err := client.Get(c.Context(), hub, route.Users())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(p.Users, func(u document.User) bool { return u.Name == a[0] })
			if i < 0 {
				return cli.Refuse("List the users: fettle user list", fmt.Sprintf("cannot find the user %.60q", a[0]))
			}
			u := p.Users[i]
			if s.JSON {
				return s.Document(u)
			}
			state := ""
			if u.Locked {
				state = " (locked)"
			}
			showRights(s, u.Name+state, u.Organization, "Roles", u.Roles, u.Grants)
			return nil
		},
	}
}

// showCurrent shows the user of the login.
func showCurrent(ctx context.Context, s *cli.Session, hub *client.Client) error {
	u, err := client.Get(ctx, hub, route.WhoAmI())
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(u)
	}
	showRights(s, u.Name, u.Organization, "Rights", u.Rights, u.Grants)
	return nil
}

func showRights(s *cli.Session, name, organization, title string, all []string, grants []document.UserGrant) {
	of := "the whole fleet"
	if organization != "" {
		of = "the organization " + render.Escape(organization)
	}
	has := "none"
	if len(all) > 0 {
		has = strings.Join(all, ", ")
	}
	s.Printf("%s\n  %s for %s: %s\n", render.Escape(name), title, of, has)
	for _, g := range grants {
		s.Printf("  Grant: %s for %s\n", render.Escape(g.Role), render.Escape(grantText(g)))
	}
}

// grantText describes the selection of a grant.
func grantText(g document.UserGrant) string {
	text := "targets"
	if len(g.Targets) > 0 {
		var names []string
		for _, t := range g.Targets {
			name := t.Name
			if name == "" {
				name = string(t.ID)
			}
			names = append(names, name)
		}
		text = strings.Join(names, ", ")
	}
	if g.Organization != "" {
		text += " of " + g.Organization
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(g.Labels)) {
		labels = append(labels, k+"="+g.Labels[k])
	}
	if len(labels) > 0 {
		text += " with " + strings.Join(labels, ", ")
	}
	return text
}
