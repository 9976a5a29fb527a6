//go:build !target

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/render"
)

func newRequest(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "request",
		Short: "Requests to agents: apply, verify, run",
		Long: `Sends requests to the agents of the targets that -t selects, through the hub.
The hub stores a request for agents that are offline until they acknowledge it.`,
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		s.requesting("apply", "Ask agents to apply their assignments now", "Requests an apply, regardless of the schedule of the agents. Nothing is applied on\ntargets without an assignment, on frozen targets, or on targets that must wait."),
		s.requesting("verify", "Ask agents to verify all managed addresses", "Requests a verification. Agents read every address, not only addresses that may\nhave changed."),
		s.requesting("report", "Ask agents to report their state", "Requests a report. It has the same content as the report after a change."),
		newRequestRun(s), newRequestList(s), newRequestShow(s), newRequestWithdraw(s),
	)
	return c
}

func (s *session) requesting(what, short, long string) *cobra.Command {
	expires := ""
	c := selectMany(&cobra.Command{
		Use:     what + " -t SELECTION",
		Short:   short,
		Long:    long,
		Example: "  fettle request " + what + " -t web1\n  fettle request " + what + " -t 'label:env=prod'",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.request(c.Context(), document.DoRequest{What: what}, expires)
		},
	})
	expiresFlag(c, &expires)
	return c
}

func (s *session) request(ctx context.Context, do document.DoRequest, expires string) error {
	words, err := s.selectedOnHub()
	if err == nil {
		do.Expires, err = spanOf(expires)
	}
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return refuse("Select agents: -t SELECTION. All agents: -t '*'", "cannot send a request: no agent is selected")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	do.Select = words
	if do.Signed, err = s.commandSigner().signedJob(ctx, hub, do); err != nil {
		return err
	}
	r, err := hub.Do(ctx, do)
	if err != nil {
		return err
	}
	return s.shown(r, func() { s.showRequest(r) })
}

func (s *session) showRequest(r document.Request) {
	s.printf("Request %s: %s, by %s at %s\n", r.ID, render.Escape(whatText(r)), r.By, s.moment(r.At))
	if r.Withdrawn != "" {
		s.printf("Withdrawn by %s\n", r.Withdrawn)
	}
	s.printf("\n")
	rows, left := [][]string{}, 0
	for _, a := range r.Targets {
		if !a.Done && a.Is != document.RequestExpired {
			left++
		}
		rows = append(rows, []string{cmp.Or(a.Name, string(a.ID)), string(a.Is), s.moment(a.At), s.ranText(a)})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "IS", "AT", "WHY"}, rows)
	s.showSaid(r)
	if left > 0 {
		s.printf("\n%d of %d have not acknowledged it yet. See which: fettle request show %s\n", left, len(r.Targets), r.ID)
	}
}

// showSaid prints what programs said, behind the name of each target.
func (s *session) showSaid(r document.Request) {
	for _, a := range r.Targets {
		if a.Result == nil || a.Result.Stdout+a.Result.Stderr == "" {
			continue
		}
		s.printf("\n%s:\n", cmp.Or(a.Name, string(a.ID)))
		for _, text := range []string{a.Result.Stdout, a.Result.Stderr} {
			for line := range strings.Lines(text) {
				s.printf("  %s\n", render.Escape(strings.TrimRight(line, "\r\n")))
			}
		}
	}
}

func newRequestList(s *session) *cobra.Command {
	var w watching
	limit := 0
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the requests to agents, newest first",
		Example: "  fettle request list\n  fettle request list --limit 500",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.RequestPage, error) { return hub.Requests(c.Context(), 0, limit) }, s.showRequests)
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "show at most this `NUMBER`; 0 shows all")
	w.flag(c)
	return c
}

// shortened is a line of a list.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
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
		rows = append(rows, []string{r.ID, render.Escape(shortened(whatText(r))), fmt.Sprintf("%d/%d", acknowledged, len(r.Targets)), s.moment(r.At), r.By})
	}
	s.style().Table(s.app.Stdout, []string{"REQUEST", "FOR", "DONE", "AT", "BY"}, rows)
	if left := p.Total - len(p.Requests); left > 0 {
		s.printf("%d more; see them with --limit\n", left)
	}
}

func newRequestShow(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:     "show REQUEST",
		Short:   "Show the progress of a request on each target",
		Example: "  fettle request show q1 --watch",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.Request, error) { return hub.Request(c.Context(), a[0]) }, s.showRequest)
		},
	}
	w.flag(c)
	return c
}
