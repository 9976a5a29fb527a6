package web_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/web"
)

// single is a host without a hub, with a repository.
type single struct {
	back
	dirty   bool
	compile error // of the repository
	last    *journal.RunInfo
	applied []executor.Options
	orderly chan string // a run ends only when it is stopped, and then has a last step; nil means at once

	planned   []executor.Request
	drifted   bool             // a user changed the file
	events    []executor.Event // of a run, instead of the usual ones
	report    *executor.Report // of a run, instead of the usual one
	confirmed []executor.Options
	recovered []executor.Options
}

func (x *single) Plan(_ context.Context, r executor.Request) (*plan.Plan, error) {
	x.planned = append(x.planned, r)
	p := &plan.Plan{Operation: journal.OpApply, Base: 3, List: "new",
		Changes: []plan.Change{{Action: plan.Create, Addr: "file:/etc/port", Why: x.why}}}
	if x.drifted {
		c := plan.Change{Action: plan.Drift, Addr: "file:/etc/motd", Drifted: true}
		if r.Repair {
			c.Action = plan.Repair
		}
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

func (x *single) Confirm(_ context.Context, o executor.Options) (int, error) {
	x.confirmed = append(x.confirmed, o)
	return x.condition.Armed.Run, nil
}

func (x *single) Recover(_ context.Context, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	x.recovered = append(x.recovered, o)
	show(executor.Event{Kind: "undo", Addr: "file:/etc/port"})
	return &executor.Report{Run: 3, Outcome: journal.RolledBack}, nil
}

func (x *single) RunDetails(_ context.Context, run int, _ bool) (d executor.RunDetails, err error) {
	d.Info.Header.Run, d.Info.Header.OnCrash = run, "finish"
	d.Plan = &plan.Plan{Changes: []plan.Change{{Action: plan.Create, Addr: "file:/etc/port"}}}
	d.Invocations = []executor.Invocation{{Parts: []executor.Part{{Addr: "file:/etc/port", Outcome: "done"}}}}
	return d, nil
}

func (x *single) Status(context.Context) (executor.Status, error) {
	return executor.Status{Last: x.last, Condition: x.condition, State: journal.State{List: "old"}}, nil
}

func (x *single) Apply(ctx context.Context, _ executor.Request, _ *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	x.applied = append(x.applied, o)
	for _, kind := range []string{"start", "wait", "done"} {
		show(executor.Event{Kind: kind, Addr: "file:/etc/port", Text: "soon"})
	}
	for _, e := range x.events {
		show(e)
	}
	if x.slow != nil {
		x.slow <- struct{}{} // it has begun
		<-x.slow
	}
	if x.orderly != nil {
		x.orderly <- "begun"
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // the present step
		x.orderly <- "ended"
	}
	return cmp.Or(x.report, &executor.Report{Run: 4, Outcome: journal.Succeeded, Changed: 1}), x.err
}

func (x *single) request(context.Context) (executor.Request, executor.Options, func(), error) {
	return executor.Request{Revision: repo.Revision{Dirty: x.dirty, Commit: strings.Repeat("c", 40)}}, executor.Options{},
		func() {}, x.compile
}

// config returns the configuration of the pages.
func (x *single) config(kept *wire.Kept) web.Config {
	api := web.HostAPI{Name: "web1", User: "kim", Serve: func(context.Context) wire.Served {
		return wire.Served{Hello: wire.Hello{Kept: kept}, Now: time.Now,
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return x, func() error { return nil }, nil
			}}
	}}
	return web.Config{Host: &web.Host{Name: "web1", Request: x.request, Flags: []string{"--root", "/srv/r"},
		Repository: []string{"--rev", "main"}}, Client: api.Client()}
}

// site returns the pages of the host, whose agent has an assignment or not.
func (x *single) site(kept *wire.Kept) *web.Site { return web.New(x.config(kept)) }

// applyForm reads the form of the plan.
func applyForm(t *testing.T, s http.Handler) url.Values {
	t.Helper()
	text := read(s, "/targets/web1/plan").Body.String()
	m := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no button:\n%s", text)
	}
	return url.Values{"plan": {m[1]}}
}

// TestApply: the run has the name of the user and the command with the same effect. A second one is refused meanwhile.
func TestApply(t *testing.T) {
	x := &single{back: back{slow: make(chan struct{})}}
	s := x.site(nil)
	form := applyForm(t, s)
	if w := post(s, "/targets/web1/apply", form); w.Header().Get("Location") != "/targets/web1/progress" {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	<-x.slow
	if w := post(s, "/targets/web1/apply", form); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "Another run is in progress") {
		t.Errorf("a second run: %d\n%s", w.Code, w.Body)
	}
	close(x.slow)
	if len(x.applied) != 1 || x.applied[0].User != "kim" ||
		x.applied[0].Command != "fettle apply --root /srv/r --rev main" {
		t.Errorf("%+v", x.applied)
	}
}

// TestApplyIsRefused: a plan that the user did not see, and a plan that is not possible now, change nothing.
func TestApplyIsRefused(t *testing.T) {
	x := &single{}
	s := x.site(nil)
	form := applyForm(t, s)
	refused := func(s http.Handler, want string) {
		t.Helper()
		if w := post(s, "/targets/web1/apply", form); w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("want %q: %d\n%s", want, w.Code, w.Body)
		}
	}
	x.why = "another reason"
	refused(s, "The plan has changed")
	x.why, x.dirty = "", true
	refused(s, "did not choose to apply uncommitted changes")
	x.dirty, x.compile = false, errors.New("cannot read fettle.hcl")
	refused(s, "cannot read fettle.hcl")
	if text := read(s, "/targets/web1/plan").Body.String(); !strings.Contains(text, "cannot read fettle.hcl") {
		t.Errorf("the plan:\n%s", text)
	}
	x.compile = nil
	refused(x.site(&wire.Kept{Generation: 7}), "An agent manages this host")
	x.condition = executor.Condition{Locked: "ann"}
	refused(s, "Another process changes the host")
	if len(x.applied) > 0 {
		t.Errorf("the host did %+v", x.applied)
	}
	if text := read(s, "/targets/web1/progress").Body.String(); !strings.Contains(text, "started no run") {
		t.Errorf("a refused run has progress:\n%s", text)
	}
}

// TestFailedApply: the page of the progress shows the error and the run.
func TestFailedApply(t *testing.T) {
	x := &single{back: back{err: errors.New("no space")}}
	s := x.site(nil)
	post(s, "/targets/web1/apply", applyForm(t, s))
	untilShown(t, s, "no space", "/targets/web1/runs/4", "1 of 1 change done")
}

// untilShown waits until the progress has all texts.
func untilShown(t *testing.T, s http.Handler, wants ...string) {
	t.Helper()
	missing := ""
	for range 1000 {
		text := read(s, "/targets/web1/progress").Body.String()
		missing = ""
		for _, want := range wants {
			if !strings.Contains(text, want) {
				missing = want + " in\n" + text
			}
		}
		if missing == "" {
			return
		}
	}
	t.Errorf("there is no %s", missing)
}

// TestRollbackOfThisHost: a rollback has the same progress.
func TestRollbackOfThisHost(t *testing.T) {
	var did []executor.Options
	x := &single{back: back{did: &did}}
	s := x.site(nil)
	w := post(s, "/targets/web1/rollback", planOf(t, s))
	if w.Header().Get("Location") != "/targets/web1/progress" {
		t.Fatalf("%d\n%s", w.Code, w.Body)
	}
	untilShown(t, s, "succeeded", "/targets/web1/runs/4")
	if len(did) != 1 || did[0].Command != "fettle rollback --root /srv/r 2" {
		t.Errorf("%+v", did)
	}
}

// TestOverview: the overview shows the last run, and why the host must not be changed. There are no pages of a fleet.
func TestOverview(t *testing.T) {
	x := &single{last: &journal.RunInfo{Header: journal.Header{Run: 3}, Outcome: journal.Succeeded}}
	x.condition = executor.Condition{Unfinished: 3, Frozen: &journal.Frozen{By: "ann"}}
	s := x.site(&wire.Kept{Generation: 7})
	text := read(s, "/").Body.String()
	for _, want := range []string{"run 3", "fettle recover --root /srv/r", "frozen by ann", "generation 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview lacks %q:\n%s", want, text)
		}
	}
	for _, path := range []string{"/rollouts", "/audit", "/search", "/targets/web2/runs", "/targets/web2"} {
		if w := read(s, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if strings.Contains(text, `href="/rollouts"`) {
		t.Error("the navigation has pages of a fleet")
	}
}

// TestEndDuringRun: when the command ends, a run ends in an orderly way first.
func TestEndDuringRun(t *testing.T) {
	x := &single{orderly: make(chan string, 2)}
	form := applyForm(t, x.site(nil))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- web.ServeLocal(ctx, x.config(nil), 0, func(address string) { ready <- address })
	}()
	address := <-ready
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for _, get := range []func() (*http.Response, error){
		func() (*http.Response, error) { return browser.Get(address) },
		func() (*http.Response, error) {
			return browser.PostForm(strings.Split(address, "/sign-in")[0]+"/targets/web1/apply", form)
		},
	} {
		r, err := get()
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r, err)
		}
		_ = r.Body.Close()
	}
	<-x.orderly // it has begun
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case <-x.orderly:
	default:
		t.Error("the command ended before the run")
	}
}
