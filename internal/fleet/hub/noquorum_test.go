package hub_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/sample"
)

// answerLimit is the time limit for each route while most hubs do not answer. A hub aims at 10 seconds. The test calls
// all routes twice at the same time, and the host of a test may be busy.
const answerLimit = 30 * time.Second

// alone is one hub of three, with a user for each kind of access.
type alone struct {
	*one
	values map[string]string // of the segments of paths
	bodies map[string]any    // of routes, by their name; others have a zero body
	login  string
	judge  func(r route.Row, far bool, status int, text string) error
}

// Two of three hubs are stopped, and the third answers each route of the table: with its data, or
// with a refusal that names both. The routes come from the table, so a new route is checked too.
func TestEachRouteWithoutQuorum(t *testing.T) {
	sample.Group(t, 2, 10)
	t.Parallel()
	w := newSeveral(t)
	w.join("hub2")
	w.kept(w.hubs[0], 2)
	w.join("hub3")
	w.kept(w.hubs[0], 3)
	a := w.prepared()
	w.hubs[1].stop()
	w.hubs[2].stop()
	a.notices(t)
	a.walk(t)
}

// notices waits until the hub refuses changes by itself, and its store has stopped answering.
func (a alone) notices(t *testing.T) {
	until(t, "hub1 notices both", func() (error, bool) {
		err := a.refusal()
		return err, namesBoth(err) && strings.Contains(err.Error(), "cannot reach")
	})
	until(t, "the store stops answering", func() (document.HubCheck, bool) {
		var c document.HubCheck
		err := a.ask("GET", "/v1/check", nil, &c)
		return c, err == nil && slices.ContainsFunc(c.Checks,
			func(f document.HubFinding) bool { return f.Name == "leader" && !f.Well })
	})
	until(t, "the store has no leader", func() (document.Health, bool) {
		var d document.Health
		err := a.ask("GET", "/v1/health", nil, &d)
		return d, err == nil && !d.Ready
	})
}

func (o *one) refusal() error {
	return o.ask("POST", "/v1/freeze", document.FreezeRequest{Reason: "fire"}, &document.Done{})
}

func namesBoth(err error) bool {
	return err != nil && strings.Contains(err.Error(), "hub2") && strings.Contains(err.Error(), "hub3")
}

// webGroup assigns the module web.
const webGroup = "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n"

// prepared creates one of each object in a path.
func (w *several) prepared() alone {
	o := w.hubs[0]
	w.api = o.api
	var tok document.NewToken
	o.must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 5}, &tok)
	id, link := w.agent("web1", tok.Secret)
	w.assigned(id, link, fleet.Assignment{})
	w.commit(map[string]string{"fettle.hcl": webGroup + "policy { rollout = \"careful\" }\n" +
		"cluster \"search\" {\n  labels = { role = \"web\" }\n}\n" +
		"environment \"staging\" { labels = { role = \"web\" } }\n"})
	until(w.t, "a verdict of the scope", func() (h document.ScopeHistory, _ bool) {
		err := o.ask("GET", "/v1/scopes/cluster/search/history", nil, &h)
		return h, err == nil && len(h.Verdicts) > 0
	})
	until(w.t, "a rollout", func() (document.RolloutPage, bool) {
		var page document.RolloutPage
		o.must("GET", "/v1/rollouts", nil, &page)
		return page, len(page.Rollouts) > 0
	})
	until(w.t, "an environment", func() (error, bool) {
		err := o.ask("POST", "/v1/environments", document.EnvironmentRequest{Name: "review", Parent: "staging",
			Branch: "main", Select: []string{"web1"}, For: int64(time.Hour)}, &document.Done{})
		return err, err == nil
	})
	_ = link.Close()
	var login document.NewLogin
	o.must("POST", "/v1/users", document.UserRequest{Name: "kim", Roles: []string{"admin"}}, &document.Done{})
	acme := "acme"
	o.must("POST", "/v1/users", document.UserRequest{Name: "una", Roles: []string{"read"}, Organization: &acme},
		&document.Done{})
	o.must("POST", "/v1/users/kim/login", document.LoginRequest{}, &login)
	o.must("POST", "/v1/exemptions", document.ExemptionRequest{Seconds: 3600, Reason: "urgent"}, &document.Done{})
	var exempt document.ExemptionPage
	o.must("GET", "/v1/exemptions", nil, &exempt)
	var r document.Job
	o.must("POST", "/v1/jobs", document.JobRequest{What: "verify", Select: []string{"web1"}}, &r)
	return alone{one: o, login: login.Secret, judge: withoutQuorum, values: map[string]string{
		"target": "web1", "module": "web", "job": r.ID, "rollout": "r1",
		"exemption": exempt.Exemptions[0].ID, "user": "kim", "login": login.ID,
		"token": tok.Token.ID, "hub": "hub2", "rule": "log", "notice": "one", "request": "freeze", "lock": "reboots",
		"commit": "main", "signal": "schema", "run": "1", "kind": "cluster", "scope": "search", "task": "users",
		"environment": "review", "organization": acme,
	}, bodies: map[string]any{
		"POST /v1/exemptions":                        document.ExemptionRequest{Seconds: 60, Reason: "urgent"},
		"POST /v1/environments/{environment}/extend": document.EnvironmentExtension{For: 1e9},
		"POST /v1/environments": document.EnvironmentRequest{Name: "other", Parent: "staging", Branch: "main",
			Select: []string{"web1"}, For: 1e9},
		"POST /v1/organizations/{organization}/freeze": document.FreezeRequest{Reason: "fire"},
		"POST /v1/environment-rules": document.EnvironmentRuleRequest{Name: "review", Branches: "review/*", Parent: "staging",
			Select: []string{"web1"}, Each: 1, Max: 1},
		"POST /v1/freeze":                   document.FreezeRequest{Reason: "fire"},
		"POST /v1/targets/{target}/pin":     document.PinRequest{Module: "web", Ref: "main"},
		"POST /v1/jobs":                     document.JobRequest{What: "verify", Select: []string{"web1"}},
		"POST /v1/rollouts/{rollout}/order": document.RolloutRequest{Action: "pause"},
		"POST /v1/locks/{lock}/release":     document.LockReleaseRequest{Owner: "web1", Reason: "fire"},
		"POST /v1/users":                    document.UserRequest{Name: "ann", Roles: []string{"read"}},
		"POST /v1/requests/policy":          document.RequestPolicyChange{What: fleet.RequestFreeze, Answer: fleet.Allow},
		"POST /v1/backup/saved":             document.BackupSaved{At: 1},
		"POST /v1/notifications": document.Notification{Name: "log",
			Webhook: &document.Webhook{URL: "https://127.0.0.1:9/"}},
	}}
}

// walk calls each route twice: as root on the socket, and as a user with a token.
func (a alone) walk(t *testing.T) {
	near := a.near()
	far := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var all sync.WaitGroup
	defer all.Wait()
	for _, r := range route.All() {
		all.Go(func() { a.check(t, near, "http://hub", r) })
		all.Go(func() { a.check(t, far, a.api, r) })
	}
}

// near returns a client for the socket of the hub.
func (o *one) near() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", o.socket())
		}}}
}

// check calls one route and checks its answer.
func (a alone) check(t *testing.T, c *http.Client, base string, r route.Row) {
	ctx, stop := context.WithTimeout(t.Context(), answerLimit)
	defer stop()
	resp, text, err := a.answer(ctx, c, base, r)
	switch {
	case err != nil:
		t.Errorf("%s at %s: no answer within %s: %v", r.Name(), base, answerLimit, err)
	case misleads(text):
		t.Errorf("%s at %s has words of the store: %d %s", r.Name(), base, resp.StatusCode, text)
	default:
		if err := a.judge(r, base == a.api, resp.StatusCode, text); err != nil {
			t.Errorf("%s at %s %v: %d %s", r.Name(), base, err, resp.StatusCode, text)
		}
	}
}

// withoutQuorum checks the answer of a hub that has noticed that both other hubs are missing.
func withoutQuorum(r route.Row, far bool, status int, text string) error {
	switch {
	case r.Upgrade, asksAgent(r): // the agent is not connected, which needs no hub
		if !strings.Contains(text, "not connected") && !namesBoth(errText(text)) {
			return errors.New("gives another reason")
		}
	case r.Changes() && !namesBoth(errText(text)):
		return errors.New("does not name the missing hubs")
	case r.Path == "/readyz": // it is not ready, and says so
		if status != http.StatusServiceUnavailable {
			return errors.New("is ready")
		}
	case r.Right == access.Admin && far: // rights cannot be confirmed
		if !namesBoth(errText(text)) {
			return errors.New("does not name the missing hubs")
		}
	case !r.Changes() && status != http.StatusOK:
		return errors.New("cannot be read")
	}
	return nil
}

type errText string

func (e errText) Error() string { return string(e) }

// misleads finds errors of NATS and of Go, and hints that do not help.
func misleads(text string) bool {
	for _, bad := range []string{"nats:", "jetstream", "no responders", "context deadline", "ask for less",
		"nother change was faster", "The operation took too long"} {
		if strings.Contains(text, bad) {
			return true
		}
	}
	return false
}

// answer returns the answer, or the first line of a stream.
func (a alone) answer(ctx context.Context, c *http.Client, base string, r route.Row) (*http.Response, string, error) {
	path := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(r.Path,
		func(s string) string { return a.values[strings.Trim(s, "{}")] })
	var body io.Reader
	if r.In != nil {
		in := a.bodies[r.Name()]
		if in == nil {
			in = reflect.New(reflect.TypeOf(r.In)).Interface()
		}
		text, err := json.Marshal(in)
		if err != nil {
			return nil, "", err
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, r.Method, base+path, body)
	if err != nil {
		return nil, "", err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+a.login)
	if r.Upgrade {
		q.Header.Set("Connection", "Upgrade")
		q.Header.Set("Upgrade", document.ExecutorProtocol)
	}
	resp, err := c.Do(q)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if r.Stream && resp.StatusCode == http.StatusOK {
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		return resp, line, err
	}
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}
