package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/fakehub"
)

// applied is a host with an applied list, whose last run did not end.
type applied struct {
	executor.Executor
	run int
}

func (x applied) Status(context.Context) (executor.Status, error) {
	return executor.Status{State: journal.State{Format: 1, Run: x.run}}, nil
}

func (applied) List(context.Context, int) (step.List, error) {
	l, ds := step.Parse("list", []byte("MKDIR /a\nMKDIR /b\n"))
	return l, ds.Err()
}

func (applied) RunDetails(context.Context, int, bool) (executor.RunDetails, error) {
	return executor.RunDetails{Shown: executor.Shown{States: []executor.StateRef{
		{ID: "directory.a", Addrs: []addr.Addr{"file:/a"}},
		{ID: "directory.b", Addrs: []addr.Addr{"file:/b"}}}},
		After: map[string][]string{"directory.b": {"directory.a"}}}, nil
}

// TestListGraph: the picture of the applied list has the states and the order that the journal of the host stored.
func TestListGraph(t *testing.T) {
	s := siteOf(t, plain(applied{run: 7}, "read"))
	answer := read(s, "/targets/web1/list.svg")
	for _, want := range []string{"Applied list of web1, run 7", "file:/b</text>", "state directory.b",
		"after file:/a: the source orders it", "run 7 ended before all steps"} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the picture lacks %q:\n%s", want, answer.Body)
		}
	}
	if policy := answer.Header().Get("Content-Security-Policy"); strings.Contains(policy, "script") ||
		answer.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("headers: %v", answer.Header())
	}
	if !strings.Contains(read(s, "/targets/web1").Body.String(), `href="/targets/web1/list.svg"`) {
		t.Error("the page of the target has no link to the picture")
	}
	none := read(siteOf(t, plain(applied{}, "read")), "/targets/web1/list.svg")
	if none.Code != http.StatusNotFound || !strings.Contains(none.Body.String(), "Nothing is applied") {
		t.Errorf("%d: %s", none.Code, none.Body)
	}
}

// TestHostileList: texts of a host add no element to a picture.
func TestHostileList(t *testing.T) {
	s := siteOf(t, fakehub.Host{Handler: fakehub.Hostile{Rights: []string{"read"}, Text: "web1"}, Executor: hostileList{}})
	answer := read(s, "/targets/web1/list.svg")
	if text := answer.Body.String(); answer.Code != http.StatusOK || strings.Contains(text, "<img") ||
		!strings.Contains(text, "&lt;img") {
		t.Errorf("%d: %s", answer.Code, text)
	}
}

// hostileList is a host with a hostile name of a state.
type hostileList struct{ applied }

func (hostileList) Status(context.Context) (executor.Status, error) {
	return executor.Status{State: journal.State{Format: 1, Run: 7, Complete: true}}, nil
}

func (hostileList) RunDetails(context.Context, int, bool) (executor.RunDetails, error) {
	return executor.RunDetails{Shown: executor.Shown{States: []executor.StateRef{
		{ID: fakehub.Attack, Addrs: []addr.Addr{"file:/a"}}}}}, nil
}
