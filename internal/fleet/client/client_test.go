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
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
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
	page, err := client.GetAt(ctx, c, route.Targets(), route.TargetQuery{Sort: "state"})
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
		if _, err := client.Get(t.Context(), c, route.Status()); !errors.Is(err, client.ErrUntrustedHub) || asked {
			t.Errorf("%s is believed: %v", name, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, hub := range []string{"", "http://hub", "https://", "https://hub/path", "https://me@hub", "unix://host/path",
		"hub:7443", "https://hub?x=1"} {
		if _, err := client.New(client.Login{Hub: hub, Authority: digest}); err == nil {
			t.Errorf("%q is the address of a hub", hub)
		}
	}
	if _, err := client.New(client.Login{Hub: "https://hub"}); err == nil {
		t.Error("a hub is believed without an authority")
	}
}

// TestCalls: each form of a call sends the values of a route to the hub, and returns its answer. The routes themselves
// have tests in package route.
func TestCalls(t *testing.T) {
	hub := newHub(t)
	server, authority := serve(t, hub.Handler(), "hub")
	c, err := client.New(client.Login{Hub: server.URL, Token: "admin", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var errs []error
	try := func(_ any, err error) { errs = append(errs, err) }
	try(client.Get(ctx, c, route.Status()))
	page, err := client.GetAt(ctx, c, route.Targets(), route.TargetQuery{Select: []string{"web*"}, All: true,
		Sort: "-name", Offset: 1, Limit: 1})
	if try(nil, err); len(page.Targets) != 1 || page.Targets[0].Name != "web1" {
		t.Errorf("%+v", page)
	}
	try(client.GetAt(ctx, c, route.Explain(), route.TargetModule{Target: "web1", Module: "modules/web"}))
	try(client.GetAt(ctx, c, route.Run(), route.TargetRun{Target: "web1", Run: 4}))
	try(client.GetAt(ctx, c, route.Runs(), route.RunsQuery{Target: "web1", Limit: 5}))
	try(client.GetAt(ctx, c, route.Drift(), route.TargetDrift{Target: "web1"}))
	try(client.GetAt(ctx, c, route.Events(), route.EventQuery{Target: "web1", Kinds: []string{"applied"},
		Since: apitest.Now().AddDate(-1, 0, 0), Until: apitest.Now(), Limit: 3}))
	try(client.Call(ctx, c, route.LabelTarget(), route.TargetName{Target: "web1"},
		document.LabelRequest{Set: map[string]string{"a": "b"}}))
	try(client.Post(ctx, c, route.FreezeAll(), document.FreezeRequest{Reason: "why"}))
	try(client.Post(ctx, c, route.CreateJob(), document.JobRequest{What: "report", Select: []string{"web1"}}))
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
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	want := []string{"POST /v1/targets/{target}/label web1 begun", "POST /v1/targets/{target}/label web1 done",
		"POST /v1/freeze begun", "POST /v1/freeze done", "POST /v1/jobs begun", "POST /v1/jobs done"}
	if acts := hub.Acts(); len(acts) < len(want) || !slices.Equal(acts[:len(want)], want) {
		t.Errorf("%q", acts)
	}
	var p *document.Problem
	_, err = client.GetAt(ctx, c, route.Target(), route.TargetName{Target: "no/body"})
	if !errors.As(err, &p) || p.Status != http.StatusNotFound || p.Hint == "" {
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
	err = c.Follow(t.Context(), route.EventQuery{}, func(e document.Event) error {
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
	if p, err := client.Get(t.Context(), c, route.WhoAmI()); err != nil || p.Name != "root" || len(p.Rights) != 4 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A client accepts the certificate of a hub only while it is valid at the time of its clock.
func TestClock(t *testing.T) {
	server, authority := serve(t, newHub(t).Handler(), "hub")
	for ahead, valid := range map[int]bool{0: true, 100: false, -100: false} {
		c, err := client.NewAt(client.Login{Hub: server.URL, Authority: authority, Token: "read"},
			func() time.Time { return time.Now().AddDate(ahead, 0, 0) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(t.Context(), c, route.Status()); (err == nil) != valid {
			t.Errorf("a clock that is %d years ahead: %v", ahead, err)
		}
	}
}
