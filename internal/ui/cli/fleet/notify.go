package fleet

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewNotify builds the command notify, to notifications, and reactions that wait for approval.
func NewNotify(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "notify",
		Short: "Notifications, and reactions that wait for approval",
		Long: `Manages notifications. The hub sends a notice when a problem begins and when it
is over, once each: by webhook, by mail, or to a program. If delivery fails, the
hub or another hub tries again for a day.`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newNotifyList(s), newNotifySet(s), newNotifyDelete(s))
	for _, sub := range []struct {
		use, short, example string
		do                  func(context.Context, *client.Client, string) (document.Done, error)
	}{
		{"test RULE", "Send a test notice through a rule", "  fettle notify test ops",
			func(ctx context.Context, hub *client.Client, n string) (document.Done, error) {
				return client.Call(ctx, hub, route.TestNotification(), route.RuleName{Rule: n}, document.ReasonRequest{})
			}},
		{"approve NOTICE", "Approve a reaction that waits for approval", "  fettle notify approve 3f5a0c2e9b1d4a77",
			func(ctx context.Context, hub *client.Client, n string) (document.Done, error) {
				return client.Call(ctx, hub, route.ApproveNotice(), route.NoticeID{Notice: n}, document.ReasonRequest{})
			}},
		{"reject NOTICE", "Reject a reaction that waits for approval", "  fettle notify reject 3f5a0c2e9b1d4a77",
			func(ctx context.Context, hub *client.Client, n string) (document.Done, error) {
				return client.Call(ctx, hub, route.RejectNotice(), route.NoticeID{Notice: n}, document.ReasonRequest{})
			}},
	} {
		c.AddCommand(askingHub(s.Printer, sub.use, sub.short, sub.example, sub.do))
	}
	return c
}

// askingHub is a command that asks a hub to do something with one thing.
func askingHub(s *cli.Printer, use, short, example string,
	do func(context.Context, *client.Client, string) (document.Done, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := hubclient.HubOf(s)
			if err != nil {
				return err
			}
			d, err := do(c.Context(), hub, a[0])
			if err != nil {
				return err
			}
			return s.Done(c.Name(), 0, d.Text)
		},
	}
}

func newNotifyDelete(s *cli.Session) *cobra.Command {
	yes := false
	deleting := func(ctx context.Context, hub *client.Client, n string) (document.Done, error) {
		if err := cli.AskBefore(ctx, s, yes, "Delete the rule "+n+"?"); err != nil {
			return document.Done{}, err
		}
		return client.Call(ctx, hub, route.RemoveNotification(), route.RuleName{Rule: n}, document.ReasonRequest{})
	}
	c := askingHub(s.Printer, "delete RULE", "Delete a rule, and its unsent notices", "  fettle notify delete ops",
		deleting)
	cli.YesFlag(c, &yes)
	return c
}

func newNotifyList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the rules, and unsent notices",
		Example: "  fettle notify list\n  fettle notify list --json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Notifications(), showNotifications)
		},
	}
	w.Flag(c)
	return c
}

func showNotifications(s *cli.Printer, p document.NotificationPage) {
	rows, waiting := [][]string{}, [][]string{}
	if len(p.Notifications) == 0 {
		s.Printf("There are no rules. Create one: fettle notify set --help\n")
		return
	}
	for _, n := range p.Notifications {
		last := "never"
		if n.Sent > 0 {
			last = hubclient.AgoText(s, n.Last)
		}
		rows = append(rows, []string{n.Rule.Name, strings.Join(notify.SelectedKinds(n.Rule), ","),
			cmp.Or(strings.Join(n.Rule.Select, ","), "all"), n.Rule.Recipient(), strconv.Itoa(n.Holds),
			strconv.FormatUint(n.Sent, 10), last, n.Error})
		for _, w := range n.Waiting {
			why := cmp.Or(w.Error, "is sent soon")
			if w.Approve {
				why = "pending: fettle notify approve " + w.ID
			}
			waiting = append(waiting, []string{w.ID, n.Rule.Name, s.Moment(w.At), strconv.Itoa(w.Tries), w.Subject, why})
		}
	}
	s.Style().Table(s.App.Stdout, []string{"RULE", "KINDS", "TARGETS", "RECIPIENT", "HELD", "SENT", "LAST", "ERROR"}, rows)
	if len(waiting) > 0 {
		s.Printf("\n")
		s.Style().Table(s.App.Stdout, []string{"NOTICE", "RULE", "SINCE", "TRIES", "SUBJECT", "STATE"}, waiting)
	}
}
