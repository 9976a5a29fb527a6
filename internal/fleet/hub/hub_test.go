package hub_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/test/port"
)

// world is a hub that runs in this process, with its repository.
type world struct {
	t    *testing.T
	dir  string // of all
	repo string
	host *local.Host
	stop func()
	api  string
	warn []string

	descriptors int // that the hub may have open; 0 is many
	free        func(string) (free, all uint64, err error)
	pages       func(hub.Pages) http.Handler
	comparing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	h, err := local.Open("/", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	w := &world{t: t, dir: dir, repo: filepath.Join(dir, "site"), host: h}
	w.git("init", "-q", "-b", "main", w.repo)
	return w
}

func (w *world) git(args ...string) {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), "git", args...)
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// commit writes files and commits them. Without another strategy, changes reach all targets at once.
func (w *world) commit(files map[string]string) {
	w.t.Helper()
	for name, text := range files {
		if name == "fettle.hcl" && !strings.Contains(text, "policy") {
			text += "\npolicy { rollout = \"at-once\" }\n"
		}
		file := filepath.Join(w.repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.git("-C", w.repo, "add", "-A")
	w.git("-C", w.repo, "commit", "-q", "-m", "change")
}

// birth creates the hub.
func (w *world) birth() {
	w.t.Helper()
	apiAt, busAt := port.Reserve(w.t), port.Reserve(w.t)
	w.api = "https://" + apiAt
	_, err := hub.Init(hub.InitOptions{Files: w.host, Dir: filepath.Join(w.dir, "hub"), Hosts: []string{"127.0.0.1"},
		Now: time.Now(), Settings: hub.Settings{
			Fleet: "acme", Name: "hub1", API: apiAt, Bus: busAt, HubURLs: []string{w.api}, BusURLs: []string{"tls://" + busAt},
			Repository: hub.Repository{Name: "site", URL: "file://" + w.repo, Branch: "main", Poll: 5 * time.Second},
		}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// start runs the hub until stop.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	served := sync.OnceFunc(func() { close(ready) })
	go func() {
		ended <- hub.Run(ctx, hub.Config{
			Files: w.host, Dir: filepath.Join(w.dir, "hub"), Compile: compiler{}, Now: time.Now,
			Socket: filepath.Join(w.dir, "hub.sock"), Listen: func(s string) (net.Listener, error) { return net.Listen("unix", s) },
			Warn:  func(text string) { fmt.Fprintln(os.Stderr, "hub:", text) },
			Ready: func(net.Addr, net.Addr) { served() }, Descriptors: w.descriptors, Pages: w.pages,
			Comparer: w.compare, Free: w.free,
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		w.t.Fatal(err)
	}
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
		w.stop = func() {}
	}
	w.t.Cleanup(func() { w.stop() })
}

// agent enrols a target with a token, and connects its agent.
func (w *world) agent(name, token string) (*pki.Identity, *bus.Link) {
	w.t.Helper()
	tok, err := pki.ParseToken(token)
	if err != nil {
		w.t.Fatal(err)
	}
	client := pki.Client{Directory: pki.Directory{FS: w.host, Dir: filepath.Join(w.dir, "agents", name)}, Now: time.Now}
	id, err := client.Enrol(w.t.Context(), w.api, tok, name)
	if err != nil {
		w.t.Fatal(err)
	}
	link, err := bus.Dial(w.t.Context(), bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: idTLS(id)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = link.Close() })
	return id, link
}

// ask sends a request to the API through the socket.
func (w *world) ask(method, path string, in, out any) {
	w.t.Helper()
	if err := socketClient(filepath.Join(w.dir, "hub.sock")).do(w.t.Context(), method, path, in, out); err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// until waits for a condition.
func until[T any](t *testing.T, what string, get func() (T, bool)) T {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		v, ok := get()
		if ok {
			return v
		}
		if time.Now().After(end) {
			t.Fatalf("%s: never; at last %+v", what, v)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// hook: a webhook makes the hub poll at once, if it has the right secret.
func (w *world) hook() {
	t := w.t
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(w.dir, "hub", "hook-secret"))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{strings.TrimSpace(string(secret)): http.StatusNoContent, "other": http.StatusForbidden, "": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.api+"/v1/hook/site", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Gitlab-Token", token)
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a hook with %d bytes of a token gives %d", len(token), resp.StatusCode)
		}
	}
}

// users: a user logs in remotely and has the rights of the role; a locked user has none. logins:
// after one token was revoked, another token of the same user is still valid.
func (w *world) logins(c *client.Client) {
	t := w.t
	t.Helper()
	var second document.NewLogin
	w.ask("POST", "/v1/users/ann/login", document.LoginRequest{Note: "lost"}, &second)
	authority, err := client.Authority(t.Context(), w.api)
	if err != nil {
		t.Fatal(err)
	}
	lost, err := client.New(client.Login{Hub: w.api, Token: second.Secret, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), lost, route.WhoAmI()); err != nil {
		t.Fatal(err)
	}
	var page document.LoginPage
	w.ask("GET", "/v1/users/ann/logins", nil, &page)
	if len(page.Logins) != 2 || !slices.ContainsFunc(page.Logins, func(l document.Login) bool { return l.ID == second.ID && l.Note == "lost" && l.Revoked == 0 }) {
		t.Errorf("%+v", page)
	}
	for range 2 {
		w.ask("POST", "/v1/users/ann/logins/"+second.ID+"/revoke", document.ReasonRequest{Reason: "stolen"}, &document.Done{})
	}
	if _, err := client.Get(t.Context(), lost, route.WhoAmI()); err == nil {
		t.Error("a token that was withdrawn opens something")
	}
	if _, err := client.Get(t.Context(), c, route.WhoAmI()); err != nil {
		t.Errorf("the other token of the same person: %v", err)
	}
	if w.ask("GET", "/v1/users/ann/logins", nil, &page); !slices.ContainsFunc(page.Logins, func(l document.Login) bool { return l.ID == second.ID && l.Revoked > 0 }) {
		t.Errorf("%+v", page)
	}
	w.inAudit("/revoke", second.ID, "stolen")
}

func (w *world) users() {
	t := w.t
	t.Helper()
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"read"}}, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/ann/login", document.LoginRequest{}, &login)
	authority, err := client.Authority(t.Context(), w.api)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Login{Hub: w.api, Token: login.Secret, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	web1, why := route.TargetName{Target: "web1"}, document.FreezeRequest{Reason: "for a test"}
	if who, err := client.Get(t.Context(), c, route.WhoAmI()); err != nil || who.Name != "ann" || len(who.Rights) != 1 {
		t.Fatalf("%+v, %v", who, err)
	}
	if _, err := client.GetAt(t.Context(), c, route.Target(), web1); err != nil {
		t.Error(err)
	}
	if _, err := client.Call(t.Context(), c, route.FreezeTarget(), web1, why); err == nil {
		t.Error("who may read freezes")
	}
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"operate"}}, &document.Done{})
	if _, err := client.Call(t.Context(), c, route.CreateLogin(), route.UserName{User: "ann"}, document.LoginRequest{}); err == nil {
		t.Error("who may operate makes logins")
	}
	w.logins(c)
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"read"}, Locked: true}, &document.Done{})
	if _, err := client.Get(t.Context(), c, route.WhoAmI()); err == nil {
		t.Error("who is locked out comes in")
	}
	var all document.UserPage
	if w.ask("GET", "/v1/users", nil, &all); len(all.Users) != 1 || !all.Users[0].Locked {
		t.Errorf("%+v", all)
	}
	log, err := os.ReadFile(filepath.Join(w.dir, "hub", "audit.log"))
	if err != nil || strings.Contains(string(log), login.Secret) || !strings.Contains(string(log), "/v1/users/{user}/login") {
		t.Errorf("the audit log: %v\n%s", err, log)
	}
}

// A commit reaches the agent, and its result reaches the read model.
func TestFromGitToAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit(map[string]string{
		"fettle.hcl":             "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n",
		"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"one\"\n}\n",
	})
	w.birth()
	w.start()
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 2}, &tok)
	id, link := w.agent("web1", tok.Secret)

	assigned := func() fleet.Assignment {
		return until(t, "an assignment", func() (fleet.Assignment, bool) {
			have, _ := json.Marshal(fleet.Have{})
			envelope, err := link.Ask(t.Context(), fleet.MessageAssignment, have)
			if err != nil || len(envelope) == 0 {
				return fleet.Assignment{}, false
			}
			a, err := fleet.OpenAssignment(envelope, id.Keys(nil, time.Now(), time.Time{}))
			if err != nil {
				t.Fatal(err)
			}
			return a, true
		})
	}
	a := assigned()
	if a.Name != "web1" || len(a.Modules) != 1 || a.Modules[0].Module != "modules/web" || a.Generation != 1 {
		t.Fatalf("%+v", a)
	}

	report, _ := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: id.ID, Seq: 1, At: time.Now().UnixNano(), Event: fleet.Event{Kind: fleet.Applied, Run: 1},
		Status: fleet.Status{Epoch: a.Epoch, Generation: a.Generation, Run: 1, Modules: []fleet.ModuleStatus{{Module: "modules/web", Commit: a.Modules[0].Revision.Commit, Bundle: a.Modules[0].Bundle.Digest, State: fleet.ModuleReady, Since: 1}}}})
	if _, err := link.Ask(t.Context(), fleet.MessageReport, report); err != nil {
		t.Fatal(err)
	}
	until(t, "the view", func() (document.TargetDetail, bool) {
		var d document.TargetDetail
		w.ask("GET", "/v1/targets/web1", nil, &d)
		return d, d.Target.Behind == 0 && d.Target.State == document.Ready
	})
	// A partial report is accepted only after the last report of this hub.
	part := func(seq, since uint64) error {
		text, _ := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: id.ID, Seq: seq, Since: since,
			Event: fleet.Event{Kind: fleet.ReportRequested}, Status: fleet.Status{Epoch: a.Epoch, Generation: a.Generation, Run: 1}})
		_, err := link.Ask(t.Context(), fleet.MessageReport, text)
		return err
	}
	if err := part(3, 2); err == nil {
		t.Error("took a part of what it never had")
	}
	if err := part(2, 1); err != nil {
		t.Error(err)
	}
	if err := part(3, 1); err == nil {
		t.Error("took a part of what is older than it has")
	}

	var why document.Explanation
	w.ask("GET", "/v1/targets/web1/modules/web", nil, &why)
	if text := strings.Join(why.Reasons, "\n"); why.State != fleet.ModuleReady || !strings.Contains(text,
		"modules/web is assigned by target group") || !strings.Contains(text, "it follows main") {
		t.Errorf("%+v", why)
	}

	// A push reaches the agent without a poll.
	pushed := make(chan []byte, 10)
	if err := link.Serve(fleet.MessageAssigned, func(_ context.Context, body []byte) ([]byte,
		error) {
		pushed <- body
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.commit(map[string]string{"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"two\"\n}\n"})
	select {
	case body := <-pushed:
		b, err := fleet.OpenAssignment(body, id.Keys(nil, time.Now(), time.Time{}))
		if err != nil || b.Generation != 2 || b.Modules[0].Bundle == a.Modules[0].Bundle {
			t.Fatalf("%+v, %v", b, err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the push never came")
	}

	w.users()
	w.hook()
	// Errors have a text for users.
	w.ask("POST", "/v1/targets/web1/pin", document.PinRequest{Ref: "no-such-branch"}, &document.Done{})
	until(t, "the alarm", func() (document.EventPage, bool) {
		var p document.EventPage
		w.ask("GET", "/v1/events", nil, &p)
		return p, slices.ContainsFunc(p.Events, func(e document.Event) bool { return e.Kind == "unread" && strings.Contains(e.Error, "no-such-branch") })
	})
	w.ask("POST", "/v1/targets/web1/unpin", document.UnpinRequest{}, &document.Done{})
	// A hub that restarts has the same state.
	w.stop()
	w.start()
	if b := assigned(); b.Generation != 2 || b.Epoch != a.Epoch {
		t.Errorf("%+v", b)
	}
	if err := part(3, 2); err == nil {
		t.Error("a hub that has only begun took a part")
	}
	// A hub that lost its store begins a higher epoch, and restores the target.
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "hub", "bus")); err != nil {
		t.Fatal(err)
	}
	w.start()
	if b := assigned(); b.Epoch <= a.Epoch {
		t.Errorf("%+v", b)
	}
	if out := strings.Join(w.warn, "\n"); out != "" {
		t.Error(out)
	}
}
