// Package exemption builds the commands about exemptions of targets from their windows.
//
//	root.AddCommand(exemption.New(session)) // fettle exemption request, approve, end and list
package exemption

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

// New builds the command exemption.
func New(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "exemption",
		Short: "Changes outside of windows, in an emergency",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newRequest(s), newApprove(s), newEnd(s), newList(s))
	return c
}

func newRequest(s *cli.Session) *cobra.Command {
	var r document.ExemptionRequest
	var expires time.Duration
	all := false
	c := &cobra.Command{
		Use:   "request",
		Short: "Request that targets may change outside of their windows",
		Long: `Requests that targets may change outside of their windows, for example for an
urgent fix. Two users with the right approve must approve it; the user who
requests it can be one of them. The time begins with the second approval. A
request without it ends after 24 hours.

Freezes, gates and the limits of rollouts stay in force.`,
		Example: "  fettle exemption request -t 'web*' --expires 2h --reason 'fix for CVE-2026-1234'\n" +
			"  fettle exemption request --all --expires 30m --reason 'certificates expire at noon'",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if all == (len(s.Words) > 0) {
				return cli.Refuse("Name targets with -t, or use --all", "cannot tell which targets are meant")
			}
			r.Select, r.Seconds = s.Words, int64(expires/time.Second)
			return send(s, func(hub *client.Client) (document.Done, error) {
				return client.Post(c.Context(), hub, route.RequestExemption(), r)
			})
		},
	}
	c.Annotations = map[string]string{cli.ManyMark: "true"}
	c.Flags().BoolVar(&all, "all", false, "for all targets, including targets that join later")
	cli.ExpiresFlag(c, &expires, time.Hour, "end after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newApprove(s *cli.Session) *cobra.Command {
	return decide(s, route.ApproveExemption(), &cobra.Command{
		Use:   "approve EXEMPTION",
		Short: "Approve an exemption",
		Long: `Approves an exemption. It begins when two different users have approved it. It
needs the right approve.`,
		Example: "  fettle exemption approve e4b1f0c",
	})
}

func newEnd(s *cli.Session) *cobra.Command {
	return decide(s, route.EndExemption(), &cobra.Command{
		Use:   "end EXEMPTION",
		Short: "End an exemption, or reject the request",
		Long: `Ends an exemption at once, or rejects the request. Assignments that targets got
meanwhile stay without windows.`,
		Example: "  fettle exemption end e4b1f0c --reason 'the fix is on all targets'",
	})
}

func decide(s *cli.Session, to route.Route[route.ExemptionID, document.ReasonRequest, document.Done],
	c *cobra.Command) *cobra.Command {
	var r document.ReasonRequest
	c.Args = cli.Args(1, 1)
	c.RunE = func(c *cobra.Command, a []string) error {
		return send(s, func(hub *client.Client) (document.Done, error) {
			return client.Call(c.Context(), hub, to, route.ExemptionID{Exemption: a[0]}, r)
		})
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func send(s *cli.Session, do func(*client.Client) (document.Done, error)) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := do(hub)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
}

func newList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List exemptions from windows",
		Long: `Lists requests, exemptions in force, and exemptions that ended by themselves in
the last seven days.`,
		Example: "  fettle exemption list",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Exemptions(), show)
		},
	}
	w.Flag(c)
	return c
}

func show(s *cli.Printer, p document.ExemptionPage) {
	if len(p.Exemptions) == 0 {
		s.Printf("There are no exemptions: all targets follow their windows.\n")
		return
	}
	rows := [][]string{}
	for _, e := range p.Exemptions {
		targets := "all"
		if len(e.Select) > 0 {
			targets = fmt.Sprintf("%d: %s", e.Targets, strings.Join(e.Select, ", "))
		}
		var by []string
		for _, a := range e.Approvals {
			by = append(by, a.By)
		}
		rows = append(rows, []string{e.ID, e.State, s.Moment(e.Until * int64(time.Second)), render.Escape(targets),
			render.Escape(e.By), render.Escape(fmt.Sprintf("%d/%d %s", len(e.Approvals), e.Need, strings.Join(by, ", "))),
			render.Escape(e.Reason)})
	}
	s.Style().Table(s.App.Stdout, []string{"EXEMPTION", "STATE", "UNTIL", "TARGETS", "BY", "APPROVALS", "REASON"}, rows)
}
