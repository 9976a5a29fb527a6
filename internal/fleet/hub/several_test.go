package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/test/port"
	"fettle.dev/fettle/test/sample"
)

// several is a fleet of several hubs in this process, with its repository.
type several struct {
	*world
	hubs []*one
	nats hub.NatsSettings
}

// one is one of these hubs.
type one struct {
	w      *several
	name   string
	api    string
	cancel func()
	ended  chan error

	mu     sync.Mutex
	warn   []string
	serves []string // "ready" and "stopped", in order
}

func (o *one) dir() string    { return filepath.Join(o.w.dir, o.name) }
func (o *one) socket() string { return filepath.Join(o.w.dir, o.name+".sock") }

// settings returns the settings of a new hub.
func (w *several) settings(name string) (hub.InitOptions, string) {
	apiAt, busAt, clusterAt := port.Reserve(w.t), port.Reserve(w.t), port.Reserve(w.t)
	return hub.InitOptions{Files: w.host, Dir: filepath.Join(w.dir, name), Hosts: []string{"127.0.0.1"}, Now: time.Now(),
		NatsSettings: w.nats, Settings: hub.Settings{
			Name: name, API: apiAt, Bus: busAt, Cluster: clusterAt, HubURLs: []string{"https://" + apiAt},
			BusURLs: []string{"tls://" + busAt}, Domain: "of-" + name,
		}}, "https://" + apiAt
}

func newSeveral(t *testing.T) *several { return newSeveralOver(t, hub.NatsSettings{}) }

// newSeveralOver uses an external NATS cluster, if one is given.
func newSeveralOver(t *testing.T, nats hub.NatsSettings) *several {
	w := &several{world: newWorld(t), nats: nats}
	w.commit(map[string]string{
		"fettle.hcl":             webGroup,
		"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"one\"\n}\n",
	})
	b, api := w.settings("hub1")
	b.Fleet, b.Repository = "acme", hub.Repository{Name: "site", URL: "file://" + w.repo, Branch: "main", Poll: 2 * time.Second}
	if _, err := hub.Init(b); err != nil {
		t.Fatal(err)
	}
	o := &one{w: w, name: "hub1", api: api}
	w.hubs = append(w.hubs, o)
	o.start()
	return w
}

func (o *one) start() {
	o.w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	served := sync.OnceFunc(func() { close(ready) })
	o.ended = make(chan error, 1)
	o.cancel = cancel
	ended, gone := o.ended, make(chan struct{})
	go func() {
		defer close(gone)
		ended <- hub.Run(ctx, hub.Config{
			Files: o.w.host, Dir: o.dir(), Compile: compiler{}, Comparer: compareInChild, Now: time.Now,
			Socket: o.socket(),
			Listen: func(s string) (net.Listener, error) { return net.Listen("unix", s) },
			Free:   freeAt,
			Warn: func(text string) {
				o.mu.Lock()
				defer o.mu.Unlock()
				o.warn = append(o.warn, text)
			},
			Ready: func(net.Addr, net.Addr) {
				o.note("ready")
				served()
			},
			Stopped: func() { o.note("stopped") },
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		o.w.t.Fatal(o.name, err, o.warn)
	case <-time.After(time.Minute):
		o.w.t.Fatal(o.name, "does not come", o.warn)
	}
	o.w.t.Cleanup(func() { cancel(); <-gone })
}

func (o *one) stop() {
	o.w.t.Helper()
	o.cancel()
	if err := <-o.ended; err != nil {
		o.w.t.Error(o.name, err)
	}
}

func (o *one) ask(method, path string, in, out any) error {
	return socketClient(o.socket()).do(o.w.t.Context(), method, path, in, out)
}

// must repeats a request until the hub answers, because the hub may restart.
func (o *one) must(method, path string, in, out any) {
	o.w.t.Helper()
	until(o.w.t, o.name+" answers "+path, func() (error, bool) {
		err := o.ask(method, path, in, out)
		return err, err == nil
	})
}

// joined creates the directory of another hub of the fleet, and returns the URL of its API.
func (w *several) joined(name string) (string, error) {
	w.t.Helper()
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Hub: true}, &tok)
	b, api := w.settings(name)
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		_, err := hub.Join(ctx, hub.JoinOptions{InitOptions: b, URL: w.hubs[0].api, Token: tok.Secret})
		if !errors.Is(err, syscall.ECONNREFUSED) || ctx.Err() != nil {
			return api, err
		}
		time.Sleep(20 * time.Millisecond) // the hub restarts
	}
}

// join creates another hub of the fleet, and runs it.
func (w *several) join(name string) *one {
	w.t.Helper()
	api, err := w.joined(name)
	if err != nil {
		select {
		case end := <-w.hubs[0].ended:
			w.t.Error("hub1 ended:", end)
		default:
		}
		w.t.Fatal(name, err, w.hubs[0].warn)
	}
	o := &one{w: w, name: name, api: api}
	w.hubs = append(w.hubs, o)
	o.start()
	return o
}

// kept waits until all data is on all of some hubs.
func (w *several) kept(by *one, n int) document.HubPage {
	w.t.Helper()
	return until(w.t, fmt.Sprintf("everything is kept %d times", n), func() (document.HubPage, bool) {
		var p document.HubPage
		if err := by.ask("GET", "/v1/hubs", nil, &p); err != nil {
			return p, false
		}
		return p, len(p.Hubs) == n && p.Copies == min(n, 3) && p.Complete
	})
}

// Three hubs of one fleet: agents get the addresses of all, any of them serves, another hub leads
// after a failure, and no generation is used twice. With FETTLE_LONG the failed hub returns, and
// then all hubs except one are retired.
func TestSeveralHubs(t *testing.T) {
	sample.Group(t, 0, 8)
	t.Parallel()
	w := newSeveral(t)
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 5}, &tok)
	w.api = w.hubs[0].api
	id, link := w.agent("web1", tok.Secret)
	first := w.assigned(id, link, fleet.Assignment{})
	_ = link.Close()

	w.join("hub2")
	w.kept(w.hubs[0], 2)
	w.join("hub3")
	p := w.kept(w.hubs[2], 3)
	t.Logf("%+v", p)
	for _, o := range w.hubs {
		until(t, o.name+" may issue certificates of services", func() (error, bool) {
			_, err := os.Stat(filepath.Join(o.dir(), "keys", "services.pem"))
			return err, err == nil
		})
	}

	// Enrolment at any hub, with a token of another hub.
	w.api = w.hubs[1].api
	id2, link2 := w.agent("web2", tok.Secret)
	if len(id2.HubURLs) != 3 || len(id2.BusURLs) != 3 {
		t.Errorf("a new target knows %v and %v", id2.HubURLs, id2.BusURLs)
	}
	again := w.assigned(id2, link2, fleet.Assignment{})
	if again.Epoch < first.Epoch {
		t.Errorf("epoch %d after %d", again.Epoch, first.Epoch)
	}
	// All hubs show a target as connected that is connected to one of them.
	for _, o := range w.hubs {
		until(t, o.name+" knows who is connected", func() (document.TargetDetail, bool) {
			var d document.TargetDetail
			err := o.ask("GET", "/v1/targets/web2", nil, &d)
			return d, err == nil && d.Target.Connected
		})
	}
	w.loads(t)
	w.agree("/v1/modules")
	// The leader stops while a commit is assigned.
	web := &sharer{t: t, id: id2, link: link2}
	rule := document.RequestPolicyChange{What: fleet.RequestCertificate, Answer: fleet.Allow, Select: []string{"web*"}, Names: []string{"*.example.org"}}
	w.hubs[0].must("POST", "/v1/requests/policy", rule, &document.Done{})
	before := web.gets("a.example.org")
	leader := w.leader()
	slots := w.contend(20)
	w.commit(map[string]string{"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"two\"\n}\n"})
	leader.stop()
	began, two := time.Now(), w.assigned(id2, link2, again)
	t.Logf("generation %d of %d after %s without %s", two.Generation, two.Epoch, time.Since(began).Round(time.Millisecond), leader.name)
	// The remaining hubs issue certificates of services, and list those of the stopped hub.
	web.gets("b.example.org")
	for _, o := range w.hubs {
		if o == leader {
			continue
		}
		until(t, o.name+" knows both certificates", func() (document.CertificatePage, bool) {
			var p document.CertificatePage
			err := o.ask("GET", "/v1/certificates", nil, &p)
			return p, err == nil && len(p.Certificates) == 2 && slices.ContainsFunc(p.Certificates, func(c document.Certificate) bool { return c.Serial == before })
		})
	}
	// Every hub has the content.
	for _, o := range w.hubs {
		if o != leader {
			until(t, o.name+" has the content", func() (string, bool) {
				return two.Modules[0].Bundle.Digest, w.has(o, two.Modules[0].Bundle)
			})
		}
	}
	slots.end()
	if os.Getenv("FETTLE_LONG") == "" {
		w.retireWithoutMost(leader)
		return
	}
	leader.start()
	w.kept(w.hubs[0], 3)
	w.retire("hub2", "hub3")
}

// retireWithoutMost: a hub without a majority refuses to retire another hub, with the reason and
// the remedy.
func (w *several) retireWithoutMost(away *one) {
	var left []*one
	for _, o := range w.hubs {
		if o != away {
			left = append(left, o)
		}
	}
	left[1].stop()
	began := time.Now()
	err := left[0].ask("POST", "/v1/hubs/"+left[1].name+"/retire", document.HubRetirement{Reason: "its disk is broken", Lost: true}, &document.Done{})
	if err == nil || !strings.Contains(err.Error(), "a change needs more than half of the hubs") {
		w.t.Errorf("a hub retires another one alone: %v", err)
	}
	w.t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
	// Each other change is refused at once, with the names of the missing hubs.
	for path, in := range map[string]any{
		"/v1/targets/web2/pin":    document.PinRequest{Module: "web", Ref: "main"},
		"/v1/targets/web2/freeze": document.ReasonRequest{Reason: "it burns"},
	} {
		began := time.Now()
		err := left[0].ask("POST", path, in, &document.Done{})
		if err == nil || !strings.Contains(err.Error(), away.name) || !strings.Contains(err.Error(), left[1].name) {
			w.t.Errorf("%s: %v", path, err)
		}
		w.t.Logf("%s after %s: %v", path, time.Since(began).Round(time.Millisecond), err)
	}
	// Existing data can still be read.
	for _, path := range []string{"/v1/hubs", "/v1/check", "/v1/alarms", "/v1/targets", "/v1/status"} {
		var out map[string]any
		if err := left[0].ask("GET", path, nil, &out); err != nil {
			w.t.Errorf("%s: %v", path, err)
		}
	}
	var p document.HubPage
	left[0].must("GET", "/v1/hubs", nil, &p)
	for _, h := range p.Hubs {
		if h.Reachable != (h.Name == left[0].name) || p.ToleratedFailures != 0 {
			w.t.Errorf("%+v", p)
		}
	}
}

// retire retires hubs until the first is alone.
func (w *several) retire(names ...string) {
	t := w.t
	t.Helper()
	for _, name := range names {
		w.hubs[0].must("POST", "/v1/hubs/"+name+"/retire", document.ReasonRequest{}, &document.Done{})
		for i, o := range w.hubs {
			if o.name == name {
				select {
				case err := <-o.ended:
					if !errors.Is(err, hub.ErrRetired) {
						t.Error(name, err)
					}
				case <-time.After(time.Minute):
					t.Fatal(name, "does not stop", o.warn)
				}
				w.hubs = append(w.hubs[:i:i], w.hubs[i+1:]...)
				break
			}
		}
	}
	w.kept(w.hubs[0], 1)
	if err := w.hubs[0].ask("POST", "/v1/hubs/hub1/retire", document.ReasonRequest{}, &document.Done{}); err == nil {
		t.Error("the only hub is retired")
	}
}

func (w *several) has(o *one, b fleet.Bundle) bool {
	there, err := host.Exists(w.host, filepath.Join(o.dir(), "content", b.Digest[len("sha256:"):]))
	return err == nil && there
}

func (w *several) leader() *one {
	w.t.Helper()
	return until(w.t, "somebody leads", func() (*one, bool) {
		var p document.HubPage
		if err := w.hubs[0].ask("GET", "/v1/hubs", nil, &p); err != nil {
			return nil, false
		}
		for _, h := range p.Hubs {
			for _, o := range w.hubs {
				if h.Leader && h.Name == o.name {
					return o, true
				}
			}
		}
		return nil, false
	})
}

// assigned waits for an assignment after another one, with a different module.
func (w *several) assigned(id *pki.Identity, link fleet.Link, than fleet.Assignment) fleet.Assignment {
	w.t.Helper()
	var last error
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the last answer to the agent: %v", last)
		}
	})
	return until(w.t, "an assignment", func() (fleet.Assignment, bool) {
		have, _ := json.Marshal(fleet.Have{})
		ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
		defer cancel()
		envelope, err := link.Ask(ctx, fleet.MessageAssignment, have)
		last = err
		if err != nil || len(envelope) == 0 {
			return fleet.Assignment{}, false
		}
		keys := id.Keys(nil, time.Now(), time.Time{})
		a, err := fleet.OpenAssignment(envelope, keys)
		if err != nil || len(a.Modules) == 0 {
			return a, false
		}
		if len(than.Modules) == 0 {
			return a, true
		}
		above := a.Epoch > than.Epoch || a.Epoch == than.Epoch && a.Generation > than.Generation
		if !above && a.Modules[0].Bundle != than.Modules[0].Bundle {
			w.t.Errorf("%d of %d is given out after %d of %d, for something else", a.Generation, a.Epoch, than.Generation, than.Epoch)
		}
		return a, above && a.Modules[0].Bundle != than.Modules[0].Bundle
	})
}
