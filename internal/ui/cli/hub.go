//go:build !target

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

// hubSocket is where a hub on this machine listens for root. A hub of an earlier version that still
// runs after an upgrade of the package listens at formerHubSocket.
const (
	hubSocket       = "/run/fettle-hub/hub.sock"
	formerHubSocket = "/run/fettle/hub.sock"
)

func (s *printer) hubSocket() string {
	if s.app.HubSocket == "" && !fileExists(hubSocket) && fileExists(formerHubSocket) {
		return formerHubSocket
	}
	return cmp.Or(s.app.HubSocket, hubSocket)
}

// loginDoc tells of a login. The token is in no document.
type loginDoc struct {
	Format    string   `json:"format"` // fettle.login/1
	Hub       string   `json:"hub"`
	Authority string   `json:"authority,omitempty"`
	Name      string   `json:"name"`
	Rights    []string `json:"rights"`
}

// loginFile is the file of the user's login, "" if the user has no home directory.
func loginFile(s *printer) string {
	if file := here.PersonalIdentity(s.app.Env); file != "" {
		return filepath.Join(filepath.Dir(file), "hub.json")
	}
	return ""
}

// hub returns the hub for fleet commands: the hub of the login, otherwise the hub on this machine.
func (s *printer) hub() (*client.Client, error) {
	l, err := s.login()
	if err != nil {
		return nil, err
	}
	return clientOf(s, l)
}

// ownHub returns a client of the hub on this machine, also if the user has a login at another hub. A
// socket is always on this machine. hint is for the case that no hub runs here.
func ownHub(s *printer, do, hint string) (*client.Client, error) {
	if l, err := s.login(); err == nil && strings.HasPrefix(l.Hub, "unix://") {
		return clientOf(s, l)
	}
	if !fileExists(s.hubSocket()) {
		return nil, refuse(hint, "cannot "+do+" the hub of this host: no hub runs here")
	}
	return clientOf(s, client.Login{Hub: "unix://" + s.hubSocket()})
}

// clientOf is a client that reports on standard error while a hub does not answer.
func clientOf(s *printer, l client.Login) (*client.Client, error) {
	c, err := client.New(l)
	if err == nil {
		c.OnWait(func() func() { return whileWaiting(s, "waiting for an answer of the hub at "+l.Hub) })
	}
	return c, err
}

func (s *printer) login() (client.Login, error) {
	var l client.Login
	file := loginFile(s)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && fileExists(s.hubSocket()):
		return client.Login{Hub: "unix://" + s.hubSocket()}, nil
	case errors.Is(err, fs.ErrNotExist):
		return l, refuse("Log in: fettle login https://HOST:PORT",
			"cannot connect to a hub: there is no login, and no hub on this host")
	case err == nil:
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Format != client.LoginFormat {
		err = fmt.Errorf("its format is %.40q", l.Format)
	}
	if err != nil {
		return l, withHint(fmt.Errorf("cannot read the login in %s: %w", file, err),
			"Log in again: fettle login https://HOST:PORT")
	}
	return l, nil
}

func newLogin(s *session) *cobra.Command {
	authority := ""
	c := &cobra.Command{
		Use:   "login HUB",
		Short: "Set the hub and the user for fleet commands",
		Long: `Logs in to a hub. It reads a token from standard input, and checks it with the
hub. It then stores the token, the address of the hub and the digest of its
fleet CA in fettle/hub.json of your configuration directory. Only you can read
this file.

A hub is identified by its fleet CA. Give --ca-digest with the digest that the
hub shows on its own host. Without --ca-digest, the login to an https address
is refused, and the digest of the hub that answered is shown: compare the two.
After the login, only hubs of that fleet CA are trusted, at any address.

Hosts can require signed commands. Set your SSH key for them with --sign-key.`,
		Example: "  fettle login https://hub.example.org:7440 --ca-digest sha256:2f5c… <token\n  fettle login unix:///run/fettle-hub/hub.sock </dev/null",
		Args:    args(1, 1),
		RunE:    func(c *cobra.Command, a []string) error { return logIn(c.Context(), s, a[0], authority) },
	}
	c.Flags().StringVar(&authority, "ca-digest", "",
		"the `DIGEST` of the certificate of the fleet CA, as the hub shows it")
	return c
}

func logIn(ctx context.Context, s *session, hub, authority string) error {
	file := loginFile(s.printer)
	if file == "" {
		return refuse("Set HOME to your own directory", "cannot store a login: HOME is not set")
	}
	if authority == "" && strings.HasPrefix(hub, "https://") {
		found, err := client.Authority(ctx, hub)
		if err != nil {
			return err
		}
		return refuse("If the hub shows the same digest on its own host: fettle login "+hub+" --ca-digest "+found,
			"cannot verify the identity of the hub: the digest of its fleet CA is "+found)
	}
	text, err := io.ReadAll(io.LimitReader(s.app.Stdin, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot read the token: %w", err)
	}
	l := client.Login{Format: client.LoginFormat, Hub: strings.TrimSuffix(hub, "/"),
		Token: strings.TrimSpace(string(text)), Authority: authority}
	if l.Token == "" && !strings.HasPrefix(hub, "unix:") {
		return refuse("Give it on standard input: fettle login "+hub+" … <FILE", "cannot log in without a token")
	}
	if s.connectOpts.signKey != "" && s.connectOpts.signKey != noSigning {
		if l.SignKey, err = filepath.Abs(s.connectOpts.signKey); err != nil {
			return fmt.Errorf("cannot find the key for signing: %w", err)
		}
	}
	c, err := clientOf(s.printer, l)
	if err != nil {
		return err
	}
	who, err := client.Get(ctx, c, route.WhoAmI())
	if err != nil {
		return err
	}
	if err := keepLogin(file, l); err != nil {
		return err
	}
	if s.json {
		return s.document(loginDoc{"fettle.login/1", l.Hub, l.Authority, who.Name, who.Rights})
	}
	s.printf("Logged in to %s as %s, with these rights: %s.\n", l.Hub, who.Name, strings.Join(who.Rights, ", "))
	return nil
}

// keepLogin writes for its owner alone, whole.
func keepLogin(file string, l client.Login) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	temp := file + ".new"
	if err == nil {
		err = os.Remove(temp)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.WriteFile(temp, append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return fmt.Errorf("cannot store the login: %w", err)
	}
	return nil
}

// selectMany marks a command as one that takes a selection.
func selectMany(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{manyMark: "yes"}
	return c
}

// selectedOnHub is what -t says for a hub, which reads no files of this machine.
func (f *targetFlags) selectedOnHub() ([]string, error) {
	sel, err := selection.Parse(f.words)
	if err != nil {
		return nil, err
	}
	if files := sel.Files(); len(files) > 0 {
		return nil, refuse("Write the content of the file after -t",
			fmt.Sprintf("cannot select @%s: a hub cannot read files of this host", files[0]))
	}
	return f.words, nil
}

// watchEvery is how often what is watched is asked for.
const watchEvery = 2 * time.Second

// watching is what --watch needs.
type watching struct{ on bool }

func (w *watching) flag(c *cobra.Command) {
	c.Flags().BoolVar(&w.on, "watch", false, "show the result again after each change, until you stop the command")
}

// showingRoute shows the document of a route whose requests have no values.
func showingRoute[T any](ctx context.Context, s *printer, w watching, r route.Route[route.None, route.None, T],
	show func(*printer, T)) error {
	return showingAt(ctx, s, w, r, route.None{}, show)
}

// showingAt shows the document of a route.
func showingAt[A, T any](ctx context.Context, s *printer, w watching, r route.Route[A, route.None, T], at A,
	show func(*printer, T)) error {
	return showing(ctx, s, w, func(hub *client.Client) (T, error) { return client.GetAt(ctx, hub, r, at) }, show)
}

// showing asks a hub for a document and shows it, once or whenever it is another one.
func showing[T any](ctx context.Context, s *printer, w watching,
	get func(*client.Client) (T, error), show func(*printer, T)) error {
	hub, err := s.hub()
	if err != nil {
		return err
	}
	doc, err := get(hub)
	if err != nil {
		return err
	}
	if !w.on {
		return s.shown(doc, func() { show(s, doc) })
	}
	last := ""
	for {
		text, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("cannot show it: %w", err)
		}
		if string(text) != last {
			s.repaint(last == "")
			if s.json {
				s.lineDocument(doc)
			} else {
				show(s, doc)
			}
			last = string(text)
		}
		if err := sleepUntil(ctx, s, s.app.Now().Add(watchEvery)); err != nil {
			return nil // the user stopped it, which is not an error
		}
		if doc, err = get(hub); err != nil {
			return err
		}
	}
}

func (s *printer) shown(doc any, show func()) error {
	if s.json {
		return s.document(doc)
	}
	show()
	return nil
}

// repaint makes room for what is shown again.
func (s *printer) repaint(first bool) {
	switch {
	case s.json:
	case s.colored(s.app.Terminal.Out):
		s.printf("\x1b[H\x1b[2J")
	case !first:
		s.printf("\n")
	}
}

// ago formats the time since a moment.
func (s *printer) ago(ns int64) string {
	if ns == 0 {
		return "never"
	}
	d := s.app.Now().Sub(time.Unix(0, ns))
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

// eachOnHub calls f for every target that is named or that -t selects, and continues after a refused
// target.
func eachOnHub(ctx context.Context, s *session, did string, names []string,
	f func(*client.Client, string) (document.Done, error)) error {
	hub, err := s.hub()
	if err != nil {
		return err
	}
	if names, err = s.namedOnHub(ctx, hub, names); err != nil {
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
		return s.done(did, 0, strings.Join(texts, "\n"))
	}
	for _, t := range texts {
		s.printf("%s\n", t)
	}
	return errors.Join(wrong...)
}

// namedOnHub returns the targets of a command: the named targets, otherwise the targets that -t
// selects.
func (s *session) namedOnHub(ctx context.Context, hub *client.Client, names []string) ([]string, error) {
	switch {
	case len(names) > 0 && len(s.words) > 0:
		return nil, refuse("Either name targets, or select them with -t", "cannot combine named targets with a selection")
	case len(names) > 0:
		return names, nil
	case len(s.words) == 0:
		return nil, refuse("Name a target, or select several: -t SELECTION", "cannot run this command without a target")
	}
	words, err := s.selectedOnHub()
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{Select: words, Sort: "name"})
	for _, t := range page.Targets {
		names = append(names, string(t.ID))
	}
	return names, err
}
