package hub_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
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
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// answerLimit is how long each route may take if most hubs do not answer.
const answerLimit = 10 * time.Second

// alone is one hub of three, and a user of each kind of access.
type alone struct {
	*one
	values map[string]string // of the segments of paths
	login  string
}

// A hub whose two others are stopped answers each route of the table: what it knows, or a
// refusal that names both. The table gives the routes, so a new route is checked too.
func TestEachRouteWithoutQuorum(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	w.join("hub2")
	w.kept(w.hubs[0], 2)
	w.join("hub3")
	w.kept(w.hubs[0], 3)
	a := w.prepared()
	w.hubs[1].stop()
	w.hubs[2].stop()
	until(t, "hub1 notices both", func() (error, bool) { err := w.hubs[0].refusal(); return err, namesBoth(err) })
	until(t, "the store stops answering", func() (document.HubCheck, bool) {
		var c document.HubCheck
		err := w.hubs[0].ask("GET", "/v1/check", nil, &c)
		return c, err == nil && slices.ContainsFunc(c.Checks, func(f document.HubFinding) bool { return f.Name == "leader" && !f.Well })
	})
	a.walk(t)
}

func (o *one) refusal() error {
	return o.ask("POST", "/v1/freeze", document.FreezeRequest{Reason: "fire"}, &document.Done{})
}

func namesBoth(err error) bool {
	return err != nil && strings.Contains(err.Error(), "hub2") && strings.Contains(err.Error(), "hub3")
}

// prepared has one of each object that a path names.
func (w *several) prepared() alone {
	o := w.hubs[0]
	w.api = o.api
	var tok document.NewToken
	o.must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 5}, &tok)
	id, link := w.agent("web1", tok.Secret)
	w.assigned(id, link, fleet.Assignment{})
	_ = link.Close()
	var login document.NewLogin
	o.must("POST", "/v1/people", document.PersonRequest{Name: "kim", Roles: []string{"admin"}}, &document.Done{})
	o.must("POST", "/v1/people/kim/login", document.LoginRequest{}, &login)
	var r document.Request
	o.must("POST", "/v1/requests", document.DoRequest{What: "verify", Select: []string{"web1"}}, &r)
	return alone{one: o, login: login.Secret, values: map[string]string{
		"target": "web1", "module": "web", "request": r.ID, "person": "kim", "login": login.ID, "token": tok.Token.ID,
		"hub": "hub2", "rule": "log", "notice": "one", "ask": "freeze",
	}}
}

// walk asks each route twice: as root at the socket, and as a user with a token.
func (a alone) walk(t *testing.T) {
	near := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.socket())
	}}}
	far := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var all sync.WaitGroup
	defer all.Wait()
	for _, r := range api.Routes() {
		all.Go(func() { a.check(t, near, "http://hub", r) })
		all.Go(func() { a.check(t, far, a.api, r) })
	}
}

// check asks one route and judges its answer.
func (a alone) check(t *testing.T, c *http.Client, base string, r api.Route) {
	ctx, stop := context.WithTimeout(t.Context(), answerLimit)
	defer stop()
	resp, text, err := a.answer(ctx, c, base, r)
	if err != nil {
		t.Errorf("%s at %s: no answer within %s: %v", r.Name(), base, answerLimit, err)
		return
	}
	switch said := resp.Status + " " + text; {
	case misleads(text):
		t.Errorf("%s at %s has words of the store: %s", r.Name(), base, said)
	case r.Upgrade: // the agent is not connected, which needs no hub
		if !strings.Contains(text, "not connected") && !namesBoth(errText(text)) {
			t.Errorf("%s at %s: %s", r.Name(), base, said)
		}
	case r.Changes() && !namesBoth(errText(text)):
		t.Errorf("%s at %s does not name the missing hubs: %s", r.Name(), base, said)
	case r.Path == "/readyz": // it is not ready, and says so
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s at %s: %s", r.Name(), base, said)
		}
	case r.Right == access.Admin && base == a.api: // rights cannot be confirmed
		if !namesBoth(errText(text)) {
			t.Errorf("%s at %s does not name the missing hubs: %s", r.Name(), base, said)
		}
	case !r.Changes() && resp.StatusCode != http.StatusOK:
		t.Errorf("%s at %s cannot be read: %s", r.Name(), base, said)
	}
}

type errText string

func (e errText) Error() string { return string(e) }

// misleads finds errors of NATS and of Go, and advice that does not help.
func misleads(text string) bool {
	for _, bad := range []string{"nats:", "jetstream", "no responders", "context deadline", "ask for less", "omebody else was faster", "It took too long"} {
		if strings.Contains(text, bad) {
			return true
		}
	}
	return false
}

// answer gives the answer, and of a stream the first line or nothing.
func (a alone) answer(ctx context.Context, c *http.Client, base string, r api.Route) (*http.Response, string, error) {
	path := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(r.Path, func(s string) string { return a.values[strings.Trim(s, "{}")] })
	var body io.Reader
	if r.In != nil {
		text, err := json.Marshal(reflect.New(reflect.TypeOf(r.In)).Interface())
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
