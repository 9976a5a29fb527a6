package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/fakehub"
)

// history is a host with 60 runs. The last one failed.
type history struct{ executor.Executor }

func (history) Runs(context.Context) (out []journal.RunInfo, err error) {
	for n := range 60 {
		began := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC).UnixNano()
		r := journal.RunInfo{Header: journal.Header{Run: n + 1, Operation: journal.OpApply, User: "kim", From: "ssh",
			Command: fmt.Sprint("fettle apply ", n+1), Revision: repo.Revision{Commit: strings.Repeat("c", 40),
				Subject: "Serve more", Author: "Ann <ann@example.org>"}},
			Started: began, Ended: began + int64(1500*time.Millisecond), Outcome: journal.Succeeded, Changed: 3}
		if n == 59 {
			r.Outcome, r.Error = journal.Failed, "cannot restart nginx"
		}
		out = append(out, r)
	}
	return out, nil
}

// plain is a hub whose texts are all "web1", for a reader.
func plain(x executor.Executor, rights ...string) http.Handler {
	return fakehub.Host{Handler: fakehub.Hostile{Rights: rights, Text: "web1"}, Executor: x}
}

// TestRuns: the newest run is first, each page has 25 runs, and readers see all of them.
func TestRuns(t *testing.T) {
	s := siteOf(t, plain(history{}, "read"))
	for query, want := range map[string][2]int{"": {60, 36}, "?offset=25": {35, 11}, "?offset=50": {10, 1},
		"?offset=x": {60, 36}} {
		path := "/targets/web1/runs" + query
		text := read(s, path).Body.String()
		first := strings.Index(text, fmt.Sprintf(">run %d<", want[0]))
		last := strings.Index(text, fmt.Sprintf(">run %d<", want[1]))
		if n := strings.Count(text, ">run "); first < 0 || last < first || n != want[0]-want[1]+1 {
			t.Errorf("%s has %d runs, the first at %d and the last at %d", path, n, first, last)
		}
	}
	text := read(s, "/targets/web1/runs").Body.String()
	for _, want := range []string{"failed", "succeeded", "Serve more", "by Ann", "fettle apply 60",
		"kim, from ssh", "1.5s",
		`href="/commits/cccc`, "60 runs", "fettle log -t web1", "does not update itself"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "data-path") || read(s, "/live?at=/targets/web1/runs").Code != http.StatusNotFound {
		t.Error("the page updates itself, and asks the agent each time")
	}
}

// silent is an executor that never answers.
type silent struct {
	executor.Executor
	ended chan struct{}
}

func (x silent) Runs(ctx context.Context) ([]journal.RunInfo, error) {
	<-ctx.Done()
	<-x.ended // and it ignores the end of the call
	return nil, ctx.Err()
}

// TestSilentAgent: if an agent does not answer, the page shows the last known state after a few seconds.
func TestSilentAgent(t *testing.T) {
	x := silent{ended: make(chan struct{})}
	defer close(x.ended)
	s := siteOf(t, plain(x, "read"))
	began := time.Now()
	text := read(s, "/targets/web1/runs").Body.String()
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("the page took %s", d)
	}
	for _, want := range []string{"no complete answer within 5s", "fettle log -t web1", "The last known state"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// broken is an executor whose journal cannot be read.
type broken struct{ executor.Executor }

func (broken) Runs(context.Context) ([]journal.RunInfo, error) {
	return nil, errors.New("cannot read the journal: bad sector")
}

// TestOfflineAgent: the page explains why there is no answer, and has the last known state.
func TestOfflineAgent(t *testing.T) {
	for want, h := range map[string]http.Handler{"bad sector": plain(broken{}, "read"),
		"its agent is not connected": offline{fakehub.Hostile{Rights: []string{"read"}, Text: "web1"}}} {
		text := read(siteOf(t, h), "/targets/web1/runs").Body.String()
		if !strings.Contains(text, want) || !strings.Contains(text, "The last known state") {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// offline is a hub without a connection to any agent.
type offline struct{ http.Handler }

func (h offline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		h.Handler.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprint(w, `{"title": "Unavailable", "status": 503, "detail": "its agent is not connected"}`)
}
