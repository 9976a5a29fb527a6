//go:build !target

package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newRequest(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "request",
		Short: "Ask agents to do something now",
		Long: `Asks the agents of the targets that -t selects, through the hub. A request is kept for
agents that are away until they acknowledge it.`,
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		s.requesting("apply", "Ask agents to apply what is assigned to them now", "Ask agents for an apply, whatever their schedule says. What is not assigned, frozen or waits is not applied."),
		s.requesting("verify", "Ask agents to look at everything that is managed", "Every address is read, not only what may have changed."),
		s.requesting("report", "Ask agents to report how they are", "They report as after a change."),
		newRequestList(s), newRequestShow(s),
	)
	return c
}

func (s *session) requesting(what, short, long string) *cobra.Command {
	return selectMany(&cobra.Command{
		Use:     what + " -t SELECTION",
		Short:   short,
		Long:    long,
		Example: "  fettle request " + what + " -t web1\n  fettle request " + what + " -t 'label:env=prod'",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return s.request(c.Context(), what) },
	})
}

func (s *session) request(ctx context.Context, what string) error {
	words, err := s.selectedOnHub()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return refuse("Select them: -t SELECTION; for all of them -t '*'", "cannot ask agents when none is selected")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	r, err := hub.Do(ctx, document.DoRequest{What: what, Select: words})
	if err != nil {
		return err
	}
	return s.shown(r, func() { s.showRequest(r) })
}

func (s *session) showRequest(r document.Request) {
	s.printf("Request %s: %s, by %s at %s\n\n", r.ID, r.What, r.By, s.moment(r.At))
	rows, left := [][]string{}, 0
	for _, a := range r.Targets {
		is := "acknowledged"
		switch {
		case !a.Done:
			is = "waits"
			left++
		case a.Error != "":
			is = "refused"
		}
		rows = append(rows, []string{cmp.Or(a.Name, string(a.ID)), is, s.moment(a.At), a.Error})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "IS", "AT", "WHY"}, rows)
	if left > 0 {
		s.printf("\n%d of %d have not acknowledged it yet. See who has: fettle request show %s\n", left, len(r.Targets), r.ID)
	}
}

func newRequestList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List what agents were asked",
		Example: "  fettle request list",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.RequestPage, error) { return hub.Requests(c.Context()) }, s.showRequests)
		},
	}
	w.flag(c)
	return c
}

func (s *session) showRequests(p document.RequestPage) {
	rows := [][]string{}
	for _, r := range p.Requests {
		acknowledged := 0
		for _, a := range r.Targets {
			if a.Done {
				acknowledged++
			}
		}
		rows = append(rows, []string{r.ID, r.What, fmt.Sprintf("%d/%d", acknowledged, len(r.Targets)), s.moment(r.At), r.By})
	}
	s.style().Table(s.app.Stdout, []string{"REQUEST", "FOR", "DONE", "AT", "BY"}, rows)
}

func newRequestShow(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:     "show REQUEST",
		Short:   "Show which agents acknowledged a request",
		Example: "  fettle request show q1 --watch",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.Request, error) { return hub.Request(c.Context(), a[0]) }, s.showRequest)
		},
	}
	w.flag(c)
	return c
}
