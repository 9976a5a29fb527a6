package web

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/fakehub"
	"fettle.dev/fettle/test/hubs"
)

// scopes declares a cluster with a task, in a room.
const scopes = `target_group "web" {
  labels  = { role = "web" }
  modules = ["base", "web"]
}
cluster "web" {
  targets = ["web1"]
  task "load" { command = ["/usr/local/bin/load"] }
}
scope_kind "room" {}
scope "north" {
  kind   = "room"
  scopes = ["cluster/web"]
}
policy { rollout = "at-once" }
`

// applied lets a target apply its newest assignment.
func applied(t *testing.T, h *hubs.Fleet, a *hubs.Agent) {
	t.Helper()
	_, err := hubs.Await(t.Context(), "the newest assignment of "+a.Name, func() (d document.TargetDetail, err error) {
		if err = a.Ready(t.Context()); err == nil {
			d, err = client.GetAt(t.Context(), h.Root, route.Target(), route.TargetName{Target: a.Name})
		}
		return d, err
	}, func(d document.TargetDetail) bool {
		return d.Root != nil && d.Root.Subject == "Declare a cluster" && d.Target.State == document.Ready &&
			d.Target.Assigned == d.Target.Accepted
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestScopes: the host of a task of a real hub is lost during the attempt. An operator sees the verdict change on an
// open page, sets the result of the task, and then lets the cluster do it again.
func TestScopes(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	var attempts atomic.Int32
	f.Web1.Job = func(j fleet.Job) (a fleet.JobAnswer) {
		switch {
		case j.What != fleet.JobTask:
		case attempts.Add(1) == 1:
			a.Interrupted = true
		default:
			a.Task, a.Error = fleet.TaskFailed, "exit code 1: <b>no space</b>"
		}
		return a
	}
	operator, err := f.Client(t.Context(), "ann", "operate")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, operator, f.Time)
	b.visit("/scopes")
	b.until("the empty list", oneLine+".includes('declares no scopes')")
	if err := f.Commit(t.Context(), "Declare a cluster", map[string]string{"fettle.hcl": scopes}); err != nil {
		t.Fatal(err)
	}
	b.until("the scopes", "document.querySelectorAll('tbody tr').length === 2")
	applied(t, f, f.Web1)
	b.until("the failed task", oneLine+".includes('cluster/web ✖ failed')")
	b.shows("/scopes/tree", "room/north", "cluster/web")
	b.shows("/scopes/room/north", "cluster/web")
	b.shows("/?by=scope", "cluster/web 1", "without scope")
	b.shows("/tasks", "load", "Needs a decision")
	b.shows("/inbox", "load of cluster/web: the agent stopped during the attempt")
	b.click("#main a[href*='#task-load']")
	b.until("the task", "document.querySelector('#task-load .hold') !== null && "+
		"location.pathname === '/scopes/cluster/web'")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("an undecided task in " + scheme)
	}

	b.do(chromedp.SendKeys("#task-load form[action$=resolve] [name=reason]", "it is loaded"))
	b.click("#task-load button[value=done]")
	b.until("the result", "document.querySelector('.flash')?.innerText.includes('The result of the task load')")
	b.until("the verdict", "document.querySelector('h1').innerText.includes('ready')")
	wantTask := func(phase document.TaskPhase, text string, attempts int) {
		t.Helper()
		all, err := client.Get(t.Context(), operator, route.Tasks())
		if err != nil || len(all.Tasks) != 1 || all.Tasks[0].Phase != phase || len(all.Tasks[0].Attempts) != attempts ||
			!strings.Contains(all.Tasks[0].Why(), text) {
			t.Errorf("the hub has %+v %v, want %s: %s", all, err, phase, text)
		}
	}
	wantTask(document.TaskDone, "ann: it is loaded", 1)

	b.click("#task-load summary")
	b.do(chromedp.SendKeys("#task-load form[action$=retry] [name=reason]", "the data is new"))
	b.click("#task-load form[action$=retry] button")
	b.until("the answer", "document.querySelector('.flash')?.innerText.includes('begins again')")
	b.until("the failure", oneLine+".includes('✖ failed') && "+oneLine+".includes('exit code 1: <b>no space</b>')")
	wantTask(document.TaskFailed, "exit code 1", 2)
	b.until("the verdict", "document.querySelector('h1').innerText.includes('failed')")
	b.until("the history", "[...document.querySelectorAll('h2')].at(-1).nextElementSibling."+
		"querySelectorAll('tbody tr').length >= 3")
	b.quiet()

	reader, err := f.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	b = open(t, reader, f.Time)
	b.shows("/scopes/cluster/web", "exit code 1")
	if eval[bool](b, "document.querySelector('form.orders') !== null") {
		t.Error("a reader has a form")
	}
}

// TestPicturesOfScopes compares the pages of scopes with golden pictures.
func TestPicturesOfScopes(t *testing.T) {
	hub := fakehub.Scopes{Hostile: fakehub.Hostile{Rights: []string{"operate", "read"}, Text: "web1"}}
	b := open(t, fakehub.Serve(t, hub), apitest.Now)
	b.pictures(map[string]string{"scopes": "/scopes", "scopetree": "/scopes/tree", "scope": "/scopes/cluster/search",
		"tasks": "/tasks", "environments": "/environments"})
}
