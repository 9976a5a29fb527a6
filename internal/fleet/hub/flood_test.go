package hub_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// idle opens n idle connections from an address, and returns the connections that the hub keeps. A
// connection above a limit is closed at once.
func (w *world) idle(from, to string, n int) (kept []net.Conn) {
	w.t.Helper()
	for range n {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)},
			Timeout: time.Minute}).DialContext(w.t.Context(), "tcp", to)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = c.Close() })
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); isTimeout(err) {
			kept = append(kept, c)
		}
	}
	return kept
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// login returns a client of a new user, with an open connection that has authenticated.
func (w *world) login(name string) *client.Client {
	w.t.Helper()
	w.ask("POST", "/v1/users", document.UserRequest{Name: name, Roles: []string{"read"}}, &document.Done{})
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
	if _, err := client.Get(w.t.Context(), c, route.WhoAmI()); err != nil {
		w.t.Fatalf("%s cannot log in: %v", name, err)
	}
	return c
}

// Idle connections, from one address and from many, do not block a new client of another address.
// Authenticated connections, the socket and git are not affected.
func TestIdleConnections(t *testing.T) {
	w := newWorld(t)
	w.descriptors = 130 // 24 for HTTPS, 12 of them for strangers
	w.commit(map[string]string{"fettle.hcl": "target_group \"all\" { labels = {} }\n"})
	w.birth()
	w.start()
	ann := w.login("ann")
	api := strings.TrimPrefix(w.api, "https://")
	if n := len(w.idle("127.0.0.2", api, 16)); n < 12 {
		t.Errorf("one address has %d idle connections, and no other address needs a place", n)
	}
	w.login("bob") // from 127.0.0.1, with new connections
	for i := 3; i < 9; i++ {
		w.idle(fmt.Sprintf("127.0.0.%d", i), api, 4)
	}
	w.login("kim")
	if _, err := client.Get(t.Context(), ann, route.WhoAmI()); err != nil {
		t.Errorf("a connection that has authenticated: %v", err)
	}
	w.ask("GET", "/v1/status", nil, &struct{}{})
	w.commit(map[string]string{"fettle.hcl": "target_group \"all\" { labels = {} }\n# new\n"})
	w.awaitCommit()
}

// awaitCommit waits until the hub has fetched the newest commit.
func (w *world) awaitCommit() {
	w.t.Helper()
	head, err := exec.CommandContext(w.t.Context(), "git", "-C", w.repo, "rev-parse", "HEAD").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	until(w.t, "the newest commit", func() (string, bool) {
		mirrors, _ := filepath.Glob(filepath.Join(w.dir, "hub", "mirror", "*"))
		return fmt.Sprint(mirrors), slices.ContainsFunc(mirrors, func(dir string) bool {
			return exec.CommandContext(w.t.Context(), "git", "--git-dir", dir, "cat-file", "-e",
				strings.TrimSpace(string(head))).Run() == nil
		})
	})
}

// A connection without authentication answers one request; a connection with a token answers many.
func TestStrangersKeepNoConnection(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "\n"})
	w.birth()
	w.start()
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"read"}}, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/ann/login", document.LoginRequest{}, &login)
	for header, want := range map[string]bool{"": true, "Bearer wrong": true, "Bearer " + login.Secret: false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.api+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
		if answer.Close != want {
			t.Errorf("after %s with %d bytes of a header the connection ends: %v", answer.Status, len(header), answer.Close)
		}
	}
}
