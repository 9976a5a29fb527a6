package organization

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List organizations with their limits",
		Long: `Lists the organizations that you see, each with its own limits. The counts
include the organizations below it.`,
		Example: "  fettle organization list",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Organizations(), showAll)
		},
	}
	w.Flag(c)
	return c
}

func newShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "show ORGANIZATION",
		Short: "Show an organization with all limits that apply to its targets",
		Long: `Shows an organization, the organizations on its path with their limits, the
organizations below it, and the rollouts that need approvals for it.`,
		Example: "  fettle organization show acme/search",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Organization(), named(a), showOne)
		},
	}
	w.Flag(c)
	return c
}

func named(a []string) route.OrganizationName { return route.OrganizationName{Organization: a[0]} }

func showAll(s *cli.Printer, p document.OrganizationPage) {
	if len(p.Organizations) == 0 {
		s.Printf("There are no organizations. The first user, token or target creates one: docs/organizations.md\n")
		return
	}
	rows := [][]string{}
	for _, o := range p.Organizations {
		rows = append(rows, []string{render.Escape(string(o.Organization)), strconv.Itoa(o.Targets), strconv.Itoa(o.Users),
			limitsText(s, o)})
	}
	s.Style().Table(s.App.Stdout, []string{"ORGANIZATION", "TARGETS", "USERS", "LIMITS"}, rows)
}

// limitsText describes the own limits of an organization.
func limitsText(s *cli.Printer, o document.Organization) string {
	var out []string
	if o.DeclaredFreeze != "" {
		out = append(out, "frozen by the repository: "+o.DeclaredFreeze)
	}
	if f := o.Freeze; f != nil {
		text := fmt.Sprintf("frozen by %s: %s", f.By, f.Reason)
		if f.Until > 0 {
			text += ", until " + s.Moment(f.Until)
		}
		out = append(out, text)
	}
	if o.MaxUnavailable != "" {
		out = append(out, o.MaxUnavailable+" unavailable at most")
	}
	switch {
	case o.Approvals == 1:
		out = append(out, "1 approval")
	case o.Approvals > 1:
		out = append(out, fmt.Sprintf("%d approvals", o.Approvals))
	}
	return render.Escape(strings.Join(out, "; "))
}

func showOne(s *cli.Printer, d document.OrganizationDetail) {
	o := d.Organization
	s.Printf("%s: %s, %s\n", render.Escape(string(o.Organization)), render.Count(o.Targets, "target"),
		render.Count(o.Users, "user"))
	limited := false
	for _, each := range append(d.Upstream, o) {
		if text := limitsText(s, each); text != "" {
			s.Printf("  Limits of %s: %s\n", render.Escape(string(each.Organization)), text)
			limited = true
		}
	}
	if !limited {
		s.Printf("  No limits\n")
	}
	for _, below := range d.Downstream {
		s.Printf("  Below: %s\n", render.Escape(string(below)))
	}
	for _, w := range d.Waiting {
		var by []string
		for _, a := range w.Approvals {
			by = append(by, a.By)
		}
		text := ""
		if len(by) > 0 {
			text = " (" + strings.Join(by, ", ") + ")"
		}
		s.Printf("  The rollout %s waits for %d of %d approvals%s, with %s: %s\n", render.Escape(w.Rollout),
			w.Need-len(by), w.Need, render.Escape(text), render.Count(w.Targets, "target"), render.Escape(w.Cause))
		if v := w.Rejected; v != nil {
			s.Printf("    %s rejected it: %s\n", render.Escape(v.By), render.Escape(v.Reason))
		}
		s.Printf("    fettle organization approve %s %s\n", render.Escape(string(o.Organization)), render.Escape(w.Rollout))
	}
}
