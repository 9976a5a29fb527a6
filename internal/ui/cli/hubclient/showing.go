package hubclient

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
)

// watchEvery is the time between two requests of a command with --watch.
const watchEvery = 2 * time.Second

// Watching is what --watch needs.
type Watching struct{ On bool }

// Flag defines --watch.
func (w *Watching) Flag(c *cobra.Command) {
	cli.WatchFlag(c, &w.On)
}

// ShowingRoute shows the document of a route whose requests have no values.
func ShowingRoute[T any](ctx context.Context, s *cli.Printer, w Watching, r route.Route[route.None, route.None, T],
	show func(*cli.Printer, T)) error {
	return ShowingAt(ctx, s, w, r, route.None{}, show)
}

// ShowingAt shows the document of a route.
func ShowingAt[A, T any](ctx context.Context, s *cli.Printer, w Watching, r route.Route[A, route.None, T], at A,
	show func(*cli.Printer, T)) error {
	return Showing(ctx, s, w, func(hub *client.Client) (T, error) { return client.GetAt(ctx, hub, r, at) }, show)
}

// Showing asks a hub for a document and shows it, once or whenever it is another one.
func Showing[T any](ctx context.Context, s *cli.Printer, w Watching,
	get func(*client.Client) (T, error), show func(*cli.Printer, T)) error {
	hub, err := HubOf(s)
	if err != nil {
		return err
	}
	doc, err := get(hub)
	if err != nil {
		return err
	}
	if !w.On {
		return ShowDocument(s, doc, func() { show(s, doc) })
	}
	last := ""
	for {
		text, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("cannot show it: %w", err)
		}
		if string(text) != last {
			repaint(s, last == "")
			if s.JSON {
				s.LineDocument(doc)
			} else {
				show(s, doc)
			}
			last = string(text)
		}
		if err := cli.SleepUntil(ctx, s, s.App.Now().Add(watchEvery)); err != nil {
			return nil // the user stopped it, which is not an error
		}
		if doc, err = get(hub); err != nil {
			return err
		}
	}
}

// ShowDocument prints a document as JSON with --json, otherwise it calls show.
func ShowDocument(s *cli.Printer, doc any, show func()) error {
	if s.JSON {
		return s.Document(doc)
	}
	show()
	return nil
}

// repaint clears the terminal, or separates two results in other output.
func repaint(s *cli.Printer, first bool) {
	switch {
	case s.JSON:
	case s.Colored(s.App.Terminal.Out):
		s.Printf("\x1b[H\x1b[2J")
	case !first:
		s.Printf("\n")
	}
}
