package web_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// contains reads a page, and checks that it has all texts.
func contains(t *testing.T, s http.Handler, path string, wants ...string) {
	t.Helper()
	text := read(s, path).Body.String()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", path, want, text)
		}
	}
}

// TestPhasesOfRun: the progress shows each phase with its results, the failure, and what the undo restored.
func TestPhasesOfRun(t *testing.T) {
	of := func(text string, changes ...plan.Change) executor.Event {
		return executor.Event{Kind: "plan", Text: text, Plan: &plan.Plan{Changes: changes}}
	}
	x := &single{back: back{err: errors.New("nginx: failed")}}
	x.events = []executor.Event{
		of("the next phase", plan.Change{Action: plan.Update, Addr: "file:/etc/port"},
			plan.Change{Action: plan.Run, Addr: "exec:nginx"}),
		{Kind: "done", Addr: "file:/etc/port"}, {Kind: "failed", Index: 1, Addr: "exec:nginx", Text: "unknown directive"},
		{Kind: "undo", Addr: "file:/etc/port"}, {Kind: "done", Addr: "file:/etc/other"},
		of("back to run 3", plan.Change{Action: plan.Restore, Addr: "file:/etc/port"}),
		{Kind: "done", Addr: "file:/etc/port"},
	}
	x.report = &executor.Report{Run: 5, Runs: []int{4, 5, 6}, Outcome: journal.RolledBack, Notes: []string{"kept a file"},
		NotUndone: []addr.Addr{"exec:nginx"}, Remaining: []addr.Addr{"exec:last"}}
	s := x.site(nil)
	post(s, "/targets/web1/apply", applyForm(t, s))
	untilShown(t, s, "nginx: failed", "in 3 phases", "Phase 2: the next phase", "unknown directive",
		"0 of 2 changes done, 1 failed, 1 undone", "Phase 3: back to run 3", "1 of 1 change done", "/targets/web1/runs/6",
		"could not restore <span class=\"object\">exec:nginx", "Not run: <span class=\"object\">exec:last", "kept a file")
}

// TestManyChangesOfRun: changes beyond the limit of a page count too.
func TestManyChangesOfRun(t *testing.T) {
	p := &plan.Plan{}
	for range 700 {
		p.Changes = append(p.Changes, plan.Change{Action: plan.Run, Addr: "exec:one"})
	}
	x := &single{events: []executor.Event{{Kind: "plan", Plan: p}, {Kind: "start", Index: 600, Addr: "exec:many"},
		{Kind: "done", Index: 600, Addr: "exec:many"}}}
	s := x.site(nil)
	post(s, "/targets/web1/apply", applyForm(t, s))
	untilShown(t, s, "1 of 700 changes done", "200 more")
}

// TestApplyUncommittedChanges: the form has a choice, and the command shows it.
func TestApplyUncommittedChanges(t *testing.T) {
	x := &single{dirty: true}
	s := x.site(nil)
	contains(t, s, "/targets/web1/plan", `name="uncommitted" value="yes" required`)
	form := applyForm(t, s)
	if w := post(s, "/targets/web1/apply", form); w.Code != http.StatusConflict || len(x.applied) > 0 {
		t.Errorf("without the choice: %d %+v", w.Code, x.applied)
	}
	form.Set("uncommitted", "yes")
	post(s, "/targets/web1/apply", form)
	untilShown(t, s, "succeeded")
	if len(x.applied) != 1 || x.applied[0].Command != "fettle apply --root /srv/r --rev main --dirty" {
		t.Errorf("%+v", x.applied)
	}
}

// TestManualChanges: without a choice, the policy of the repository counts. A plan with the other choice shows its
// command, and a run makes the plan that the user saw.
func TestManualChanges(t *testing.T) {
	x := &single{drifted: true}
	s := x.site(nil)
	contains(t, s, "/targets/web1/plan", "keeps the manual changes of 1 address,", `/plan?manual=overwrite"`)
	contains(t, s, "/targets/web1/plan?manual=overwrite", "overwrites the manual changes of 1 address.",
		`/plan?manual=keep"`, "fettle plan --root /srv/r --rev main --no-repair=false", "overwrite manual changes</button>")
	text := read(s, "/targets/web1/plan?manual=overwrite").Body.String()
	_, digest, _ := strings.Cut(text, `name="plan" value="`)
	form := url.Values{"manual": {"overwrite"}, "plan": {digest[:strings.Index(digest, `"`)]}}
	if w := post(s, "/targets/web1/apply", url.Values{"plan": form["plan"]}); w.Code != http.StatusConflict {
		t.Errorf("the plan of another choice: %d", w.Code)
	}
	post(s, "/targets/web1/apply", form)
	untilShown(t, s, "succeeded")
	if len(x.applied) != 1 || x.applied[0].Command != "fettle apply --root /srv/r --rev main --no-repair=false" ||
		!x.planned[len(x.planned)-1].Repair {
		t.Errorf("%+v", x.applied)
	}
}

// TestConfirmOfThisHost: the page shows the changes of the run and its deadline. Only the run that the user saw is
// confirmed, after a new login.
func TestConfirmOfThisHost(t *testing.T) {
	x := &single{}
	s := x.site(nil)
	contains(t, s, "/targets/web1/confirm", "No run waits")
	x.condition.Armed = &journal.Arming{Run: 3, Deadline: time.Now().Add(time.Hour).UnixNano()}
	contains(t, s, "/", `href="/targets/web1/confirm"`)
	contains(t, s, "/targets/web1/confirm", "file:/etc/port", "Keep the changes of run 3", "fettle confirm --root /srv/r")
	for _, form := range []url.Values{{"run": {"3"}}, {"run": {"2"}, "login": {"yes"}}} {
		if w := post(s, "/targets/web1/confirm", form); w.Code != http.StatusConflict || len(x.confirmed) > 0 {
			t.Errorf("%v: %d %+v", form, w.Code, x.confirmed)
		}
	}
	post(s, "/targets/web1/confirm", url.Values{"run": {"3"}, "login": {"yes"}})
	if len(x.confirmed) != 1 || x.confirmed[0].User != "kim" || x.confirmed[0].Command != "fettle confirm --root /srv/r" {
		t.Errorf("%+v", x.confirmed)
	}
	x.condition.Armed.Deadline = 1
	contains(t, s, "/targets/web1/confirm", "not confirmed in time", `/targets/web1/recover"`)
	contains(t, s, "/targets/web1/recover", "Undo run 3")
}

// TestRecoverOfThisHost: the page shows the changes of the run with their results, and its own setting. The user
// chooses.
func TestRecoverOfThisHost(t *testing.T) {
	x := &single{}
	s := x.site(nil)
	contains(t, s, "/targets/web1/recover", "nothing to recover")
	if w := post(s, "/targets/web1/recover", url.Values{"run": {"3"}, "how": {"undo"}}); w.Code != http.StatusConflict {
		t.Errorf("nothing to recover: %d", w.Code)
	}
	x.condition.Unfinished = 3
	contains(t, s, "/", `href="/targets/web1/recover"`)
	contains(t, s, "/targets/web1/recover", "Its own setting is to finish it", "file:/etc/port", `value="undo"`,
		`value="finish"`)
	for _, form := range []url.Values{{"run": {"3"}}, {"run": {"2"}, "how": {"undo"}}} {
		if w := post(s, "/targets/web1/recover", form); w.Code != http.StatusConflict {
			t.Errorf("%v: %d", form, w.Code)
		}
	}
	post(s, "/targets/web1/recover", url.Values{"run": {"3"}, "how": {"undo"}})
	untilShown(t, s, "rolled-back", "Recover run 3: undo", "1 undone")
	if len(x.recovered) != 1 || x.recovered[0].OnCrash != "undo" ||
		x.recovered[0].Command != "fettle recover --root /srv/r --on-crash undo" {
		t.Errorf("%+v", x.recovered)
	}
	x.condition.Locked = "ann"
	if text := read(s, "/targets/web1/recover").Body.String(); strings.Contains(text, `value="finish"`) {
		t.Errorf("a button while another process works:\n%s", text)
	}
	post(s, "/targets/web1/recover", url.Values{"run": {"3"}, "how": {"undo"}})
	if len(x.recovered) != 1 {
		t.Errorf("%+v", x.recovered)
	}
}
