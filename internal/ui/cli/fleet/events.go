package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewEvents builds the command events, to show the events of the fleet.
func NewEvents(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "events",
		Short: "Show the events of the fleet",
		Long: `Shows reports of agents and actions of hubs and users, oldest first. By default
it shows the newest events. With --since it shows the first events after that
time. The number of events is limited by --limit.

With --watch it also shows new events until you stop it, and reconnects after a
lost connection. With --watch and --json it prints one document on each line.`,
		Example: "  fettle events\n  fettle events --watch -t web1\n  fettle events --since 2h --kind failed --kind drifted\n  fettle events --since 3d --until 2d --limit 1000",
		Args:    cli.Args(0, 0),
	}
	module := ""
	c.Flags().StringVar(&module, "module", "", "show only events of this `MODULE`")
	return telling(s.Printer, c, func(q *route.EventQuery, _ []string) { q.Target, q.Module = s.Target, module })
}

func newTargetHistory(s *cli.Session) *cobra.Command {
	return telling(s.Printer, &cobra.Command{
		Use: "history TARGET", Short: "Show the history of a target", Args: cli.Args(1, 1),
		Example: "  fettle target history web1\n  fettle target history web1 --since 7d --kind failed",
	}, func(q *route.EventQuery, a []string) { q.Target = a[0] })
}

// NewModuleHistory builds the command module history, to show the history of a module on all
// targets.
func NewModuleHistory(s *cli.Session) *cobra.Command {
	return telling(s.Printer, &cobra.Command{
		Use: "history MODULE", Short: "Show the history of a module on all targets", Args: cli.Args(1, 1),
		Example: "  fettle module history web --since 2h\n  fettle module history web --watch",
	}, func(q *route.EventQuery, a []string) { q.Module = a[0] })
}

// telling turns c into a command that shows events; choose sets the query.
func telling(s *cli.Printer, c *cobra.Command, choose func(*route.EventQuery, []string)) *cobra.Command {
	var q route.EventQuery
	follow := false
	c.RunE = func(c *cobra.Command, a []string) error {
		choose(&q, a)
		hub, err := hubclient.HubOf(s)
		if err != nil {
			return err
		}
		if follow {
			return followEvents(c.Context(), s, hub, q)
		}
		page, err := client.GetAt(c.Context(), hub, route.Events(), q)
		if err != nil {
			return err
		}
		return hubclient.ShowDocument(s, page, func() {
			if len(page.Events) == 0 {
				s.Printf("No stored event matches.\n")
			}
			showEvents(s, page.Events)
		})
	}
	f := c.Flags()
	f.BoolVar(&follow, "watch", false, "also show new events until you stop the command")
	f.StringSliceVar(&q.Kinds, "kind", nil,
		"show only events of this `KIND`, such as failed, drifted or enrolled; may be repeated")
	cli.MomentVar(f, &q.Since, s.App.Now, "since",
		"begin at this `TIME`, or this long ago: 2h, 3d, 2026-11-21T20:00:00Z")
	cli.MomentVar(f, &q.Until, s.App.Now, "until", "end at this `TIME`, or this long ago")
	f.StringVar(&q.After, "after", "", "begin after the event with this `CURSOR`, as --json shows it")
	cli.LimitFlag(c, &q.Limit, 100, "events")
	return c
}

func followEvents(ctx context.Context, s *cli.Printer, hub *client.Client, q route.EventQuery) error {
	err := hub.Follow(ctx, q, func(e document.Event) error {
		if s.JSON {
			s.LineDocument(document.EventPage{Format: document.EventPageFormat, Events: []document.Event{e}, Cursor: e.Cursor})
			return nil
		}
		showEvents(s, []document.Event{e})
		return nil
	}, func(err error) {
		s.ErrStyle().Error(s.App.Stderr, err.Error(), "The command continues when the hub is available again")
	})
	if errors.Is(err, context.Canceled) {
		return nil // the user stopped it, which is not an error
	}
	return err
}

func showEvents(s *cli.Printer, all []document.Event) {
	for _, e := range all {
		what := cli.JoinWords(e.Kind, e.Module, hubclient.Parted("run ", number(e.Run)),
			hubclient.Parted("changes ", number(e.Changes)),
			hubclient.Parted("in ", e.RunTimeText()), hubclient.Parted("by ", e.By))
		said := cmp.Or(e.Error, e.Text)
		s.Style().Line(s.App.Stdout, s.Moment(e.At), cmp.Or(e.Name, string(e.Target), "fleet"),
			what+hubclient.Parted(": ", strings.ReplaceAll(said, "\n", "; ")))
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
