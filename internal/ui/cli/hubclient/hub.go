// Package hubclient finds the hub of the user, and asks it: for documents that a command shows once or
// again after each change, for the targets of -t, and for connections to their agents.
//
//	hub, err := hubclient.HubOf(s.Printer)
package hubclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/ui/cli"
)

// socketOfHub is where a hub on this machine listens for root. A hub of an earlier version that still
// runs after an upgrade of the package listens at formerHubSocket.
const (
	HubSocket       = "/run/fettle-hub/hub.sock"
	formerHubSocket = "/run/fettle/hub.sock"
)

func socketOfHub(s *cli.Printer) string {
	if s.App.HubSocket == "" && !cli.FileExists(HubSocket) && cli.FileExists(formerHubSocket) {
		return formerHubSocket
	}
	return cmp.Or(s.App.HubSocket, HubSocket)
}

// LoginDoc tells of a login. The token is in no document.
type LoginDoc struct {
	Format    string   `json:"format"` // fettle.login/1
	Hub       string   `json:"hub"`
	Authority string   `json:"authority,omitempty"`
	Name      string   `json:"name"`
	Rights    []string `json:"rights"`
}

// LoginFile is the file of the user's login, "" if the user has no home directory.
func LoginFile(s *cli.Printer) string {
	if file := here.PersonalIdentity(s.App.Env); file != "" {
		return filepath.Join(filepath.Dir(file), "hub.json")
	}
	return ""
}

// HubOf returns the hub for fleet commands: the hub of the login, otherwise the hub on this machine.
func HubOf(s *cli.Printer) (*client.Client, error) {
	l, err := LoginOf(s)
	if err != nil {
		return nil, err
	}
	return ClientOf(s, l)
}

// OwnHub returns a client of the hub on this machine, also if the user has a login at another hub. A
// socket is always on this machine. hint is for the case that no hub runs here.
func OwnHub(s *cli.Printer, do, hint string) (*client.Client, error) {
	if l, err := LoginOf(s); err == nil && strings.HasPrefix(l.Hub, "unix://") {
		return ClientOf(s, l)
	}
	if !cli.FileExists(socketOfHub(s)) {
		return nil, cli.Refuse(hint, "cannot "+do+" the hub of this host: no hub runs here")
	}
	return ClientOf(s, client.Login{Hub: "unix://" + socketOfHub(s)})
}

// ClientOf is a client that reports on standard error while a hub does not answer.
func ClientOf(s *cli.Printer, l client.Login) (*client.Client, error) {
	c, err := client.NewAt(l, s.App.Now)
	if err == nil {
		c.OnWait(func() func() { return WhileWaiting(s, "waiting for an answer of the hub at "+l.Hub) })
	}
	return c, err
}

// LoginOf returns the login of the user, or one for the hub on this machine.
func LoginOf(s *cli.Printer) (client.Login, error) {
	var l client.Login
	file := LoginFile(s)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && cli.FileExists(socketOfHub(s)):
		return client.Login{Hub: "unix://" + socketOfHub(s)}, nil
	case errors.Is(err, fs.ErrNotExist):
		return l, cli.Refuse("Log in: fettle login https://HOST:PORT",
			"cannot connect to a hub: there is no login, and no hub on this host")
	case err == nil:
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Format != client.LoginFormat {
		err = fmt.Errorf("its format is %.40q", l.Format)
	}
	if err != nil {
		return l, cli.WithHint(fmt.Errorf("cannot read the login in %s: %w", file, err),
			"Log in again: fettle login https://HOST:PORT")
	}
	return l, nil
}

// SelectMany marks a command whose -t accepts a selection of several targets.
func SelectMany(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{cli.ManyMark: "yes"}
	return c
}

// SelectedOnHub is what -t says for a hub, which reads no files of this machine.
func SelectedOnHub(s *cli.Session) ([]string, error) {
	sel, err := selection.Parse(s.Words)
	if err != nil {
		return nil, err
	}
	if files := sel.Files(); len(files) > 0 {
		return nil, cli.Refuse("Write the content of the file after -t",
			fmt.Sprintf("cannot select @%s: a hub cannot read files of this host", files[0]))
	}
	return s.Words, nil
}

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

// AgoText formats the time since a moment.
func AgoText(s *cli.Printer, ns int64) string {
	if ns == 0 {
		return "never"
	}
	d := s.App.Now().Sub(time.Unix(0, ns))
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= u.of {
			return fmt.Sprintf("%d%s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
}

// EachOnHub calls f for every target that is named or that -t selects, and continues after a refused
// target.
func EachOnHub(ctx context.Context, s *cli.Session, did string, names []string,
	f func(*client.Client, string) (document.Done, error)) error {
	hub, err := HubOf(s.Printer)
	if err != nil {
		return err
	}
	if names, err = NamedOnHub(ctx, s, hub, names); err != nil {
		return err
	}
	var texts []string
	var wrong []error
	for _, name := range names {
		d, err := f(hub, name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		texts = append(texts, d.Text)
	}
	if len(texts) > 0 && len(wrong) == 0 {
		return s.Done(did, 0, strings.Join(texts, "\n"))
	}
	for _, t := range texts {
		s.Printf("%s\n", t)
	}
	return errors.Join(wrong...)
}

// NamedOnHub returns the targets of a command: the named targets, otherwise the targets that -t
// selects.
func NamedOnHub(ctx context.Context, s *cli.Session, hub *client.Client, names []string) ([]string, error) {
	switch {
	case len(names) > 0 && len(s.Words) > 0:
		return nil, cli.Refuse("Either name targets, or select them with -t", "cannot combine named targets with a selection")
	case len(names) > 0:
		return names, nil
	case len(s.Words) == 0:
		return nil, cli.Refuse("Name a target, or select several: -t SELECTION", "cannot run this command without a target")
	}
	words, err := SelectedOnHub(s)
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{Select: words, Sort: "name"})
	for _, t := range page.Targets {
		names = append(names, string(t.ID))
	}
	return names, err
}
