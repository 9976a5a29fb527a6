package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

func Example() {
	dir, _ := os.MkdirTemp("", "hub")
	defer os.RemoveAll(dir)
	hub, err := apitest.New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	server, _ := apitest.Serve(hub.Handler(), "hub")
	defer server.Close()
	ctx := context.Background()
	authority, _ := client.Authority(ctx, server.URL) // the test compares the digest
	c, _ := client.New(client.Login{Hub: server.URL, Token: "read", Authority: authority})
	page, err := c.Targets(ctx, client.TargetQuery{Sort: "state"})
	for _, t := range page.Targets {
		fmt.Println(t.Name, t.State, err)
	}
	// Output:
	// web2 failed <nil>
	// web1 ready <nil>
	// db1 not-in-fleet <nil>
}

func serve(t *testing.T, h http.Handler, kind string) (*httptest.Server, string) {
	t.Helper()
	s, err := apitest.Serve(h, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	authority, err := client.Authority(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, authority
}

func newHub(t *testing.T) *apitest.Hub {
	t.Helper()
	hub, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hub.Close() })
	return hub
}

// A host of the fleet that plays a hub is refused, and so is a hub of another fleet CA. Neither
// gets the token.
func TestStrangers(t *testing.T) {
	asked := false
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true })
	target, own := serve(t, h, "target")
	other, _ := serve(t, h, "hub")
	for name, login := range map[string]client.Login{
		"a target":          {Hub: target.URL, Authority: own, Token: "t"},
		"another authority": {Hub: other.URL, Authority: own, Token: "t"},
	} {
		c, err := client.New(login)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Status(t.Context()); !errors.Is(err, client.ErrUntrustedHub) || asked {
			t.Errorf("%s is believed: %v", name, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, hub := range []string{"", "http://hub", "https://", "https://hub/path", "https://me@hub", "unix://host/path", "hub:7443", "https://hub?x=1"} {
		if _, err := client.New(client.Login{Hub: hub, Authority: digest}); err == nil {
			t.Errorf("%q is the address of a hub", hub)
		}
	}
	if _, err := client.New(client.Login{Hub: "https://hub"}); err == nil {
		t.Error("a hub is believed without an authority")
	}
}

// Each method uses an existing route with valid parameters.
func TestEveryRoute(t *testing.T) {
	hub := newHub(t)
	var seen []string
	h := hub.Handler()
	server, authority := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		h.ServeHTTP(w, r)
	}), "hub")
	c, err := client.New(client.Login{Hub: server.URL, Token: "admin", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var errs []error
	try := func(_ any, err error) { errs = append(errs, err) }
	try(c.WhoAmI(ctx))
	try(c.Status(ctx))
	try(c.Health(ctx))
	try(c.Repositories(ctx))
	try(c.Exports(ctx))
	try(c.Targets(ctx, client.TargetQuery{Select: []string{"web*"}, All: true, Sort: "-name", Offset: 1, Limit: 1}))
	try(c.Target(ctx, "web1"))
	try(c.Approve(ctx, "db1"))
	try(c.Label(ctx, "web1", document.LabelRequest{Set: map[string]string{"a": "b"}}))
	try(c.Pin(ctx, "web1", document.PinRequest{Ref: "main"}))
	try(c.Unpin(ctx, "web1", ""))
	try(c.Freeze(ctx, "web1", document.FreezeRequest{Reason: "why"}))
	try(c.FreezeAll(ctx, document.FreezeRequest{Reason: "why"}))
	try(c.UnfreezeAll(ctx))
	try(c.Unfreeze(ctx, "web1"))
	try(c.Suspect(ctx, "web1", "disk errors"))
	try(c.Trust(ctx, "web1", ""))
	try(c.Requests(ctx))
	try(c.RequestPolicy(ctx))
	try(c.Certificates(ctx))
	try(c.RevokeCertificates(ctx, document.CertificateRevocation{Serial: "1f"}))
	try(c.SetRequestPolicy(ctx, document.RequestPolicyChange{What: fleet.RequestSuspect, Answer: fleet.Allow}))
	try(c.DecideRequest(ctx, "web1", "suspect", false, document.RequestDecision{}))
	try(c.DecideRequest(ctx, "web1", "suspect", true, document.RequestDecision{}))
	hub.Open = func(access.Principal, fleet.TargetID, bool) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		return near, far.Close()
	}
	for _, changes := range []bool{false, true} {
		stream, err := c.Executor(ctx, "web1", changes, "status")
		try(nil, err)
		if err == nil {
			try(nil, stream.Close())
		}
	}
	try(c.Binaries(ctx))
	_, _ = c.SetBinary(ctx, document.BinaryRequest{}) // the route exists and requires files
	try(c.Modules(ctx))
	try(c.Module(ctx, "modules/web", 1))
	try(c.Explain(ctx, "web1", "modules/web"))
	try(c.Events(ctx, client.EventQuery{Target: "web1", Kinds: []string{"applied"}, Since: apitest.Now().AddDate(-1, 0, 0), Until: apitest.Now(), Limit: 3}))
	try(c.CreateToken(ctx, document.TokenRequest{Uses: 2}))
	try(c.Tokens(ctx))
	try(c.RevokeToken(ctx, "k1"))
	try(c.Hubs(ctx))
	try(c.Audit(ctx, 0, 10))
	try(c.RetireHub(ctx, "hub2", document.HubRetirement{Reason: "old"}))
	try(c.SetUser(ctx, document.UserRequest{Name: "ann", Roles: []string{"read"}}))
	try(c.Users(ctx))
	try(c.CreateLogin(ctx, "ann", document.LoginRequest{}))
	try(c.Logins(ctx, "ann"))
	try(c.RevokeLogin(ctx, "ann", "p1", "lost"))
	try(c.CreateJob(ctx, document.JobRequest{What: "report", Select: []string{"web1"}}))
	try(c.Job(ctx, "q1"))
	try(c.Jobs(ctx, 1, 10))
	try(c.CancelJob(ctx, "q1"))
	try(c.Alarms(ctx))
	try(c.ApproveAlarm(ctx, "sha256:aa"))
	try(c.SetNotification(ctx, document.Notification{Name: "ops", Webhook: &document.Webhook{URL: "https://chat.example.org"}}))
	try(c.Notifications(ctx))
	try(c.TestNotification(ctx, "ops"))
	try(c.DecideNotice(ctx, "n1", false))
	try(c.DecideNotice(ctx, "n1", true))
	try(c.RemoveNotification(ctx, "ops"))
	try(c.Check(ctx))
	try(c.SaveState(ctx))
	try(c.BackupSaved(ctx, document.BackupSaved{}))
	try(c.Retire(ctx, "web2", ""))
	try(c.Revoke(ctx, "web1", ""))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	left := len(api.Routes()) - len(seen) // health, readiness, metrics, the description and the stream have no method
	if left != 5 {
		t.Errorf("%d routes are asked by no method, of %d", left, len(api.Routes()))
	}
	var p *document.Problem
	if _, err := c.Target(ctx, "no/body"); !errors.As(err, &p) || p.Status != http.StatusNotFound || p.Hint == "" {
		t.Errorf("%v", err)
	}
}

// After a broken connection, the stream continues after the last event.
func TestFollowGoesOn(t *testing.T) {
	hub := newHub(t)
	h := hub.Handler()
	streams := 0
	server, authority := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams++
		if streams == 1 {
			r = r.WithContext(breaks(r.Context(), hub.Changed()))
		}
		h.ServeHTTP(w, r)
	}), "hub")
	c, err := client.New(client.Login{Hub: server.URL, Token: "read", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	enough := errors.New("enough")
	err = c.Follow(t.Context(), client.EventQuery{}, func(e document.Event) error {
		kinds = append(kinds, e.Kind)
		switch len(kinds) {
		case 3:
			return hub.Freeze(t.Context(), access.Principal{}, "aaaaaaaaaaaaaaaaaaaaaaaaaa",
				document.FreezeRequest{}) // the first stream breaks here
		case 4:
			return enough
		}
		return nil
	}, nil)
	if !errors.Is(err, enough) || strings.Join(kinds, " ") != "followed applied failed froze" || streams > 2 {
		t.Errorf("%v, %v, %d streams", err, kinds, streams)
	}
}

// breaks ends after a change.
func breaks(ctx context.Context, changed <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-changed
		cancel()
	}()
	return ctx
}

func TestSocket(t *testing.T) {
	hub := newHub(t)
	file := filepath.Join(t.TempDir(), "hub.sock")
	l, err := net.Listen("unix", file)
	if err != nil {
		t.Fatal(err)
	}
	h := hub.Handler()
	h.Authenticate = func(*http.Request) (access.Principal, error) {
		return access.NewPrincipal("root", "socket", access.Admins), nil
	}
	server := &httptest.Server{Listener: l, Config: api.Server(h)}
	server.Start()
	defer server.Close()
	c, err := client.New(client.Login{Hub: "unix://" + file})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.WhoAmI(t.Context()); err != nil || p.Name != "root" || len(p.Rights) != 4 {
		t.Errorf("%+v, %v", p, err)
	}
}
