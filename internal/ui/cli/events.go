//go:build !target

package cli

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
)

func newEvents(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "events",
		Short: "Show the events of the fleet",
		Long: `Shows reports of agents and actions of hubs and users, oldest first. By default
it shows the newest events. With --since it shows the first events after that
time. The number of events is limited by --limit.

With --watch it also shows new events until you stop it, and reconnects after a
lost connection. With --watch and --json it prints one document on each line.`,
		Example: "  fettle events\n  fettle events --watch -t web1\n  fettle events --since 2h --kind failed --kind drifted\n  fettle events --since 3d --until 2d --limit 1000",
		Args:    args(0, 0),
	}
	module := ""
	c.Flags().StringVar(&module, "module", "", "show only events of this `MODULE`")
	return telling(s.printer, c, func(q *route.EventQuery, _ []string) { q.Target, q.Module = s.target, module })
}

func newTargetHistory(s *session) *cobra.Command {
	return telling(s.printer, &cobra.Command{
		Use: "history TARGET", Short: "Show the history of a target", Args: args(1, 1),
		Example: "  fettle target history web1\n  fettle target history web1 --since 7d --kind failed",
	}, func(q *route.EventQuery, a []string) { q.Target = a[0] })
}

func newModuleHistory(s *session) *cobra.Command {
	return telling(s.printer, &cobra.Command{
		Use: "history MODULE", Short: "Show the history of a module on all targets", Args: args(1, 1),
		Example: "  fettle module history web --since 2h\n  fettle module history web --watch",
	}, func(q *route.EventQuery, a []string) { q.Module = a[0] })
}

// telling turns c into a command that shows events; choose sets the query.
func telling(s *printer, c *cobra.Command, choose func(*route.EventQuery, []string)) *cobra.Command {
	var q route.EventQuery
	follow := false
	c.RunE = func(c *cobra.Command, a []string) error {
		choose(&q, a)
		hub, err := s.hub()
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
		return s.shown(page, func() {
			if len(page.Events) == 0 {
				s.printf("No stored event matches.\n")
			}
			showEvents(s, page.Events)
		})
	}
	f := c.Flags()
	f.BoolVar(&follow, "watch", false, "also show new events until you stop the command")
	f.StringSliceVar(&q.Kinds, "kind", nil,
		"show only events of this `KIND`, such as failed, drifted or enrolled; may be repeated")
	f.Var(&momentFlag{s.app.Now, &q.Since}, "since",
		"begin at this `TIME`, or this long ago: 2h, 3d, 2026-11-21T20:00:00Z")
	f.Var(&momentFlag{s.app.Now, &q.Until}, "until", "end at this `TIME`, or this long ago")
	f.StringVar(&q.After, "after", "", "begin after the event with this `CURSOR`, as --json shows it")
	limitFlag(c, &q.Limit, 100, "events")
	return c
}

func followEvents(ctx context.Context, s *printer, hub *client.Client, q route.EventQuery) error {
	err := hub.Follow(ctx, q, func(e document.Event) error {
		if s.json {
			s.lineDocument(document.EventPage{Format: document.EventPageFormat, Events: []document.Event{e}, Cursor: e.Cursor})
			return nil
		}
		showEvents(s, []document.Event{e})
		return nil
	}, func(err error) {
		s.errStyle().Error(s.app.Stderr, err.Error(), "The command continues when the hub is available again")
	})
	if errors.Is(err, context.Canceled) {
		return nil // the user stopped it, which is not an error
	}
	return err
}

func showEvents(s *printer, all []document.Event) {
	for _, e := range all {
		what := join(e.Kind, e.Module, parted("run ", number(e.Run)), parted("changes ", number(e.Changes)),
			parted("by ", e.By))
		said := cmp.Or(e.Error, e.Text)
		s.style().Line(s.app.Stdout, s.moment(e.At), cmp.Or(e.Name, string(e.Target), "fleet"),
			what+parted(": ", strings.ReplaceAll(said, "\n", "; ")))
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
