package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// RunDetails adds a duration and a note to run 60.
func (x history) RunDetails(ctx context.Context, n int, _ bool) (executor.RunDetails, error) {
	s, err := x.Show(ctx, n)
	return executor.RunDetails{Shown: s, Took: map[int]int64{1: 1_250_000_000},
		Notes: []string{"kept the file of ann"}}, err
}

// older is a history on an agent of an earlier version.
type older struct{ executor.Executor }

// TestOlderAgent: agents of earlier versions show a run without its details.
func TestOlderAgent(t *testing.T) {
	text := read(siteOf(t, plain(older{history{}}, "read")), "/targets/web1/runs/60").Body.String()
	if !strings.Contains(text, "exec:b") || strings.Contains(text, "1.25s") {
		t.Error(text)
	}
}

// Show has run 60, which failed, and a large run 59.
func (history) Show(_ context.Context, n int) (executor.Shown, error) {
	s := executor.Shown{Plan: &plan.Plan{},
		Info: journal.RunInfo{Header: journal.Header{Run: n}, Outcome: journal.Succeeded}}
	switch n {
	case 60:
		s.Info.Outcome, s.Info.Error = journal.Failed, "cannot restart nginx"
		s.Plan.Changes = []plan.Change{{Action: plan.Create, Addr: "file:/a", Source: "web.hcl:3"},
			{Action: plan.Run, Addr: "exec:b", Source: "web.hcl:4"}, {Action: plan.Update, Addr: "file:/c"}}
		s.Invocations = []executor.Invocation{{State: "file.a", Parts: []executor.Part{{Addr: "file:/a", Outcome: "undone"}}},
			{State: "exec.b", Parts: []executor.Part{{Addr: "exec:b", Outcome: "failed", Error: strings.Repeat("x", 50_000)},
				{Addr: "file:/other", Outcome: "done"}, {Addr: "file:/more", Outcome: "done"}}}}
	case 59:
		for i := range 700 {
			s.Plan.Changes = append(s.Plan.Changes, plan.Change{Action: plan.Create, Addr: "file:/x",
				Diff: "--- a\n+++ b\n@@ -0,0 +1,900 @@\n" + strings.Repeat(fmt.Sprint("+", i, "\n"), 900)})
		}
	default:
		return s, errors.New("there is no run")
	}
	return s, nil
}

// TestRun: the error of a failed run comes first. Each step has its result and its source.
func TestRun(t *testing.T) {
	s := siteOf(t, plain(history{}, "read"))
	text := read(s, "/targets/web1/runs/60").Body.String()
	at := -1
	for _, want := range []string{"✖</span> failed", "cannot restart nginx", "exec:b", "<dl", "kept the file of ann",
		"undone", "file:/a",
		"web.hcl:3", "file.a", "✖</span> failed", "web.hcl:4", "1.25s", "more bytes", "file:/c", "fettle show -t web1 60"} {
		next := strings.Index(text[at+1:], want)
		if next < 0 {
			t.Fatalf("the page has no %q after %q", want, text[:at+1])
		}
		at += 1 + next
	}
	if strings.Contains(text, "rollback") {
		t.Error("a reader sees a rollback")
	}
	if !strings.Contains(read(siteOf(t, plain(history{}, "operate", "read")), "/targets/web1/runs/60").Body.String(),
		"/targets/web1/rollback?to=0") {
		t.Error("an operator sees no rollback")
	}
}

// TestLargeRun: a page has a limited number of steps and lines.
func TestLargeRun(t *testing.T) {
	s := siteOf(t, plain(history{}, "read"))
	text := read(s, "/targets/web1/runs/59").Body.String()
	if n := strings.Count(text, "<li>"); n != 500 {
		t.Errorf("the page has %d steps", n)
	}
	if n := strings.Count(text, `class="added"`); n != 4983 { // and 17 lines with places
		t.Errorf("the page has %d lines", n)
	}
	for _, want := range []string{"601 more lines", "200 more.", "fettle show -t web1 59"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestUnknownRun: a run that the host does not have, and a wrong number, are not found.
func TestUnknownRun(t *testing.T) {
	s := siteOf(t, plain(history{}, "read"))
	for path, want := range map[string]string{"/targets/web1/runs/61": "cannot find run 61",
		"/targets/web1/runs/0": "no such page", "/targets/web1/runs/x": "no such page"} {
		if w := read(s, path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
		}
	}
	if w := read(s, "/targets/web1/runs/5"); !strings.Contains(w.Body.String(), "there is no run") ||
		!strings.Contains(w.Body.String(), "The last known state") {
		t.Errorf("a damaged run: %d\n%s", w.Code, w.Body)
	}
}

// TestRequestOfRun: the page of a run has the request to the API that returns the run. Only operators get the one with
// differences of content.
func TestRequestOfRun(t *testing.T) {
	for request, rights := range map[string][]string{`$HUB/v1/targets/web1/runs/60&#34;`: {"read"},
		`$HUB/v1/targets/web1/runs/60?diff=true&#34;`: {"operate", "read"}} {
		text := read(siteOf(t, plain(history{}, rights...)), "/targets/web1/runs/60").Body.String()
		if !strings.Contains(text, strings.ReplaceAll(request, "&#34;", `"`)) {
			t.Errorf("the page for %v lacks %s:\n%s", rights, request, text)
		}
	}
}
