package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// Each method uses an existing route with valid parameters.
func TestEveryRoute(t *testing.T) {
	hub := newHub(t)
	missing, routes := map[string]bool{}, http.NewServeMux()
	for _, row := range route.All() {
		pattern := row.Name()
		missing[pattern] = true
		routes.Handle(pattern, http.NotFoundHandler())
	}
	h := hub.Handler()
	server, authority := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := routes.Handler(r)
		delete(missing, pattern)
		h.ServeHTTP(w, r)
	}), "hub")
	c, err := client.New(client.Login{Hub: server.URL, Token: "admin", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var errs []error
	try := func(_ any, err error) { errs = append(errs, err) }
	try(client.Get(ctx, c, route.WhoAmI()))
	try(client.Get(ctx, c, route.Status()))
	try(client.Get(ctx, c, route.Health()))
	try(client.Get(ctx, c, route.Repositories()))
	try(client.Get(ctx, c, route.Exports()))
	try(client.GetAt(ctx, c, route.Targets(), route.TargetQuery{Select: []string{"web*"}, All: true, Sort: "-name",
		Offset: 1, Limit: 1}))
	try(client.GetAt(ctx, c, route.Target(), route.TargetName{Target: "web1"}))
	try(client.Call(ctx, c, route.ApproveTarget(), route.TargetName{Target: "db1"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.LabelTarget(), route.TargetName{Target: "web1"},
		document.LabelRequest{Set: map[string]string{"a": "b"}}))
	try(client.Call(ctx, c, route.PinTarget(), route.TargetName{Target: "web1"}, document.PinRequest{Ref: "main"}))
	try(client.Call(ctx, c, route.UnpinTarget(), route.TargetName{Target: "web1"}, document.UnpinRequest{}))
	try(client.Call(ctx, c, route.FreezeTarget(), route.TargetName{Target: "web1"}, document.FreezeRequest{Reason: "why"}))
	try(client.Post(ctx, c, route.FreezeAll(), document.FreezeRequest{Reason: "why"}))
	try(client.Post(ctx, c, route.UnfreezeAll(), document.ReasonRequest{}))
	try(client.Call(ctx, c, route.UnfreezeTarget(), route.TargetName{Target: "web1"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.SuspectTarget(), route.TargetName{Target: "web1"},
		document.ReasonRequest{Reason: "disk errors"}))
	try(client.Call(ctx, c, route.TrustTarget(), route.TargetName{Target: "web1"}, document.ReasonRequest{}))
	try(client.Get(ctx, c, route.Requests()))
	try(client.Get(ctx, c, route.RequestPolicy()))
	try(client.Get(ctx, c, route.Certificates()))
	try(client.Post(ctx, c, route.RevokeCertificates(), document.CertificateRevocation{Serial: "1f"}))
	try(client.Post(ctx, c, route.SetRequestPolicy(),
		document.RequestPolicyChange{What: fleet.RequestSuspect, Answer: fleet.Allow}))
	try(client.Call(ctx, c, route.ApproveRequest(), route.TargetRequest{Target: "web1", Request: "suspect"},
		document.RequestDecision{}))
	try(client.Call(ctx, c, route.RejectRequest(), route.TargetRequest{Target: "web1", Request: "suspect"},
		document.RequestDecision{}))
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
	try(client.Get(ctx, c, route.Binaries()))
	_, _ = client.Post(ctx, c, route.SetBinary(), document.BinaryRequest{}) // the route exists and requires files
	try(client.Get(ctx, c, route.Modules()))
	try(client.GetAt(ctx, c, route.Module(), route.ModuleQuery{Module: "modules/web", Limit: 1}))
	try(client.GetAt(ctx, c, route.Explain(), route.TargetModule{Target: "web1", Module: "modules/web"}))
	try(client.GetAt(ctx, c, route.Events(), route.EventQuery{Target: "web1", Kinds: []string{"applied"},
		Since: apitest.Now().AddDate(-1, 0, 0), Until: apitest.Now(), Limit: 3}))
	try(client.Post(ctx, c, route.CreateToken(), document.TokenRequest{Uses: 2}))
	try(client.Get(ctx, c, route.Tokens()))
	try(client.Call(ctx, c, route.RevokeToken(), route.TokenID{Token: "k1"}, document.ReasonRequest{}))
	try(client.Get(ctx, c, route.Hubs()))
	try(client.GetAt(ctx, c, route.AuditLog(), route.AuditQuery{Offset: new(int64), Limit: 10}))
	try(client.Call(ctx, c, route.RetireHub(), route.HubName{Hub: "hub2"}, document.HubRetirement{Reason: "old"}))
	try(client.Post(ctx, c, route.SetUser(), document.UserRequest{Name: "ann", Roles: []string{"read"}}))
	try(client.Get(ctx, c, route.Users()))
	try(client.Post(ctx, c, route.CreateWebLogin(), document.WebLoginRequest{}))
	try(client.Call(ctx, c, route.CreateLogin(), route.UserName{User: "ann"}, document.LoginRequest{}))
	try(client.GetAt(ctx, c, route.Logins(), route.UserName{User: "ann"}))
	try(client.Call(ctx, c, route.RevokeLogin(), route.LoginID{User: "ann", Login: "p1"},
		document.ReasonRequest{Reason: "lost"}))
	try(client.Post(ctx, c, route.CreateJob(), document.JobRequest{What: "report", Select: []string{"web1"}}))
	try(client.GetAt(ctx, c, route.Job(), route.JobID{Job: "q1"}))
	try(client.GetAt(ctx, c, route.Jobs(), route.Page{Offset: 1, Limit: 10}))
	try(client.Call(ctx, c, route.CancelJob(), route.JobID{Job: "q1"}, document.ReasonRequest{}))
	try(client.Get(ctx, c, route.Alarms()))
	try(client.Post(ctx, c, route.ApproveAlarm(), document.ApprovalRequest{Digest: "sha256:aa"}))
	try(client.Post(ctx, c, route.SetNotification(),
		document.Notification{Name: "ops", Webhook: &document.Webhook{URL: "https://chat.example.org"}}))
	try(client.Get(ctx, c, route.Notifications()))
	try(client.Call(ctx, c, route.TestNotification(), route.RuleName{Rule: "ops"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.ApproveNotice(), route.NoticeID{Notice: "n1"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.RejectNotice(), route.NoticeID{Notice: "n1"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.RemoveNotification(), route.RuleName{Rule: "ops"}, document.ReasonRequest{}))
	try(client.Get(ctx, c, route.Rollouts()))
	try(client.GetAt(ctx, c, route.Rollout(), route.RolloutID{Rollout: "r2"}))
	try(client.Post(ctx, c, route.PlanRollouts(), document.RolloutPlanRequest{Compiled: []byte("{}")}))
	try(client.GetAt(ctx, c, route.CommitDifferences(), route.CommitName{Commit: "3333333333cc"}))
	try(client.Call(ctx, c, route.OrderRollout(), route.RolloutID{Rollout: "r2"},
		document.RolloutRequest{Action: "pause"}))
	try(client.Call(ctx, c, route.ApproveRollout(), route.RolloutID{Rollout: "r2"}, document.GateApprovalRequest{}))
	try(client.Call(ctx, c, route.JudgeRollout(), route.RolloutID{Rollout: "r2"},
		document.VerdictRequest{Verdict: "pass"}))
	try(client.Get(ctx, c, route.FleetRollbacks()))
	try(client.Get(ctx, c, route.Exemptions()))
	try(client.Post(ctx, c, route.RequestExemption(), document.ExemptionRequest{Seconds: 60, Reason: "why"}))
	try(client.Call(ctx, c, route.ApproveExemption(), route.ExemptionID{Exemption: "e1"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.EndExemption(), route.ExemptionID{Exemption: "e1"}, document.ReasonRequest{}))
	try(client.Get(ctx, c, route.Barriers()))
	try(client.Get(ctx, c, route.Signals()))
	try(client.Call(ctx, c, route.SendSignal(), route.SignalName{Signal: "schema"}, document.SignalRequest{}))
	try(client.Call(ctx, c, route.ClearSignal(), route.SignalName{Signal: "schema"},
		document.ReasonRequest{Reason: "why"}))
	try(client.Get(ctx, c, route.Locks()))
	try(client.GetAt(ctx, c, route.Run(), route.TargetRun{Target: "web1", Run: 4}))
	try(client.GetAt(ctx, c, route.History(), route.HistoryQuery{}))
	try(client.GetAt(ctx, c, route.Search(), route.SearchQuery{Text: "nginx"}))
	try(client.Call(ctx, c, route.ReleaseLock(), route.LockName{Lock: "reboots"},
		document.LockReleaseRequest{Owner: "web1", Reason: "it is off"}))
	try(client.Post(ctx, c, route.RollBackFleet(), document.FleetRollbackRequest{Part: "web", To: "stable"}))
	try(client.Post(ctx, c, route.ReleaseFleet(), document.FleetReleaseRequest{Part: "all"}))
	try(client.Get(ctx, c, route.Check()))
	try(client.Post(ctx, c, route.SaveState(), document.ReasonRequest{}))
	try(client.Post(ctx, c, route.BackupSaved(), document.BackupSaved{}))
	try(client.Call(ctx, c, route.RetireTarget(), route.TargetName{Target: "web2"}, document.ReasonRequest{}))
	try(client.Call(ctx, c, route.RevokeTarget(), route.TargetName{Target: "web1"}, document.ReasonRequest{}))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	// Monitoring and generators of clients request these routes, and TestFollowGoesOn follows the events.
	without := []string{"GET /healthz", "GET /metrics", "GET /readyz", "GET /v1/events/follow", "GET /v1/openapi.json"}
	if got := slices.Sorted(maps.Keys(missing)); !slices.Equal(got, without) {
		t.Errorf("routes without a request: %q, want %q", got, without)
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
