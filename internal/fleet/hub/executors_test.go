package hub_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// user returns a remote client of a user with a role.
func (w *world) user(name, role string) *client.Client {
	w.t.Helper()
	w.ask("POST", "/v1/users", document.UserRequest{Name: name, Roles: []string{role}}, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/"+name+"/login", document.LoginRequest{}, &login)
	authority, err := client.Authority(w.t.Context(), w.api)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := client.New(client.Login{Hub: w.api, Token: login.Secret, Authority: authority})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// answers makes the agent answer each line with its header.
func answers(t *testing.T, link *bus.Link) {
	t.Helper()
	err := link.ServeStreams(fleet.MessageExecutor, func(_ context.Context, header []byte, stream io.ReadWriteCloser) {
		defer stream.Close()
		var h fleet.ExecutorHeader
		if json.Unmarshal(header, &h) != nil {
			return
		}
		for s := bufio.NewScanner(stream); s.Scan(); {
			fmt.Fprintf(stream, "%s %v %s\n", h.By, h.Changes, s.Text())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The path from a user to the executor of a target: over TLS to the hub, and over the bus to the
// agent. The hub adds the user and the rights. Each change is in the audit log, limits are
// enforced, and the stream ends with the agent or the hub.
func TestExecutors(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "\n"})
	w.birth()
	w.start()
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Uses: 2}, &tok)
	id, link := w.agent("web1", tok.Secret)
	answers(t, link)
	w.agent("web2", tok.Secret) // it serves no executor
	ctx := t.Context()
	ann, bob := w.user("ann", "operate"), w.user("bob", "read")
	open := func(c *client.Client, changes bool) io.ReadWriteCloser {
		t.Helper()
		s, err := c.Executor(ctx, "web1", changes, "run -t web1 -- uptime")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	says := func(s io.ReadWriter, want string) {
		t.Helper()
		fmt.Fprintln(s, "hello")
		if text, err := bufio.NewReader(s).ReadString('\n'); err != nil || text != want {
			t.Errorf("%q, %v; want %q", text, err, want)
		}
	}
	until(t, "the target", func() (any, bool) {
		d, err := client.GetAt(ctx, ann, route.Target(), route.TargetName{Target: "web1"})
		return d, err == nil && d.Target.Connected
	})
	work, look := open(ann, true), open(bob, false)
	says(work, "ann true hello\n")
	says(look, "bob false hello\n")
	log, err := os.ReadFile(filepath.Join(w.dir, "hub", "audit.log"))
	if err != nil || !strings.Contains(string(log), `/v1/targets/{target}/work","on":"web1","outcome":"begun","reason":"{\"command\":\"run -t web1 -- uptime\"}"`) {
		t.Errorf("the audit log: %v\n%s", err, log)
	}

	refused := func(status int, err error) {
		t.Helper()
		var p *document.Problem
		if !errors.As(err, &p) || p.Status != status || p.Hint == "" {
			t.Errorf("%v, want %d", err, status)
		}
	}
	_, err = bob.Executor(ctx, "web1", true, "")
	refused(http.StatusForbidden, err)
	_, err = ann.Executor(ctx, "web2", true, "")
	refused(http.StatusServiceUnavailable, err)
	var many []io.Closer
	for err = error(nil); err == nil && len(many) < 20; {
		var s io.Closer
		if s, err = bob.Executor(ctx, "web1", false, ""); err == nil {
			many = append(many, s)
		}
	}
	refused(http.StatusTooManyRequests, err)
	says(open(ann, false), "ann false hello\n") // one who takes too much takes nothing from others
	for _, s := range many {
		_ = s.Close()
	}
	until(t, "room again", func() (error, bool) {
		s, err := bob.Executor(ctx, "web1", false, "")
		if err == nil {
			_ = s.Close()
		}
		return err, err == nil
	})

	ends := func(s io.Reader) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { _, err := io.Copy(io.Discard, s); ended <- err }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the stream goes on")
		}
	}
	_ = link.Close()
	ends(work)
	again, err := bus.Dial(ctx, bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: idTLS(id)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	answers(t, again)
	anew := until(t, "the agent is back", func() (io.ReadWriteCloser, bool) { s, err := ann.Executor(ctx, "web1", true, ""); return s, err == nil })
	says(anew, "ann true hello\n")
	w.stop()
	ends(anew)
}
