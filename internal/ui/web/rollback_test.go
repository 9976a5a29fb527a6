package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/test/fakehub"
)

// back is a host that can return to run 2.
type back struct {
	executor.Executor
	why       string // of the change
	stays     string // why the change cannot be undone
	condition executor.Condition
	err       error         // of the rollback
	slow      chan struct{} // gets a value at the begin; the rollback ends when it is closed; nil means at once
	did       *[]executor.Options
}

func (x *back) PlanRollback(_ context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	return &plan.Plan{Operation: journal.OpRollback, To: r.To, Base: 3,
		Changes: []plan.Change{{Action: plan.Remove, Addr: "file:/etc/port", Why: x.why, Irreversible: x.stays}}}, nil
}

func (x *back) Condition(context.Context) (executor.Condition, error) { return x.condition, nil }

func (x *back) Rollback(_ context.Context, r executor.RollbackRequest, _ *plan.Plan, o executor.Options,
	_ func(executor.Event)) (*executor.Report, error) {
	*x.did = append(*x.did, o)
	if x.slow != nil {
		x.slow <- struct{}{} // it has begun
		<-x.slow
	}
	return &executor.Report{Run: 4, Outcome: journal.Succeeded, Changed: 1}, x.err
}

// post sends a form from the same site.
func post(s http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// planOf reads the plan of a rollback from the page that shows it.
func planOf(t *testing.T, s http.Handler) url.Values {
	t.Helper()
	text := read(s, "/targets/web1/rollback?to=2").Body.String()
	m := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no button:\n%s", text)
	}
	return url.Values{"to": {"2"}, "plan": {m[1]}}
}

// TestRollback: the plan comes first. The same user rolls back with the same command as on the command line.
func TestRollback(t *testing.T) {
	var did []executor.Options
	s := siteOf(t, plain(&back{did: &did}, "operate", "read"))
	form := planOf(t, s)
	if len(did) > 0 {
		t.Fatal("the plan changed the host")
	}
	w := post(s, "/targets/web1/rollback", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/targets/web1/runs/4" {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	if len(did) != 1 || did[0].User != "web1" || did[0].Command != "fettle rollback -t web1 2" {
		t.Errorf("%+v", did)
	}
}

// TestRollbackIsRefused: a rollback that the user did not see, may not do, or that would not last changes nothing.
func TestRollbackIsRefused(t *testing.T) {
	var did []executor.Options
	x := &back{did: &did}
	s := siteOf(t, plain(x, "operate", "read"))
	form := planOf(t, s)
	x.why = "another reason"
	if w := post(s, "/targets/web1/rollback", form); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "The plan has changed") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
	x.why = ""
	for want, c := range map[string]executor.Condition{"Another process": {Locked: "kim"},
		"has not ended": {Unfinished: 3}, "frozen by ann": {Frozen: &journal.Frozen{By: "ann"}},
		"waits for its confirmation": {Armed: &journal.Arming{Run: 3}}} {
		x.condition = c
		refusesRollback(t, s, form, want)
	}
	x.condition, x.stays = executor.Condition{}, "its data is lost"
	refusesRollback(t, s, form, "cannot be undone")
	x.stays = ""
	managed := fakehub.Host{Handler: fakehub.Hostile{Rights: []string{"operate", "read"}, Text: "web1"}, Executor: x,
		Kept: &wire.Kept{Generation: 7, Commit: "c1"}}
	refusesRollback(t, siteOf(t, managed), form, "The agent would undo the rollback")
	refusesRollback(t, siteOf(t, plain(x, "read")), form, "right operate")
	if len(did) > 0 {
		t.Errorf("the host did %+v", did)
	}
}

// refusesRollback checks that neither the page nor the form permits a rollback.
func refusesRollback(t *testing.T, s http.Handler, form url.Values, want string) {
	t.Helper()
	text := read(s, "/targets/web1/rollback?to=2").Body.String()
	if strings.Contains(text, `name="plan"`) || !strings.Contains(text, want) {
		t.Errorf("the page does not say %q, or has a button:\n%s", want, text)
	}
	if w := post(s, "/targets/web1/rollback", form); w.Code < 400 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("the form: %d, want %q\n%s", w.Code, want, w.Body)
	}
}

// TestSlowRollback: the page does not wait for a long rollback, and does not stop it.
func TestSlowRollback(t *testing.T) {
	var did []executor.Options
	x := &back{did: &did, slow: make(chan struct{})}
	defer close(x.slow)
	s := siteOf(t, plain(x, "operate", "read"))
	w := post(s, "/targets/web1/rollback", planOf(t, s))
	<-x.slow
	if w.Header().Get("Location") != "/targets/web1/runs" || len(did) != 1 {
		t.Errorf("%d %v %v", w.Code, w.Header(), did)
	}
}

// TestFailedRollback: the error of a run is shown on its page.
func TestFailedRollback(t *testing.T) {
	var did []executor.Options
	s := siteOf(t, plain(&back{did: &did, err: errors.New("no space")}, "operate", "read"))
	if w := post(s, "/targets/web1/rollback", planOf(t, s)); w.Header().Get("Location") != "/targets/web1/runs/4" {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	for _, to := range []string{"", "x", "-1"} {
		if w := read(s, fmt.Sprint("/targets/web1/rollback?to=", to)); w.Code != http.StatusBadRequest {
			t.Errorf("to=%s: %d", to, w.Code)
		}
	}
}
