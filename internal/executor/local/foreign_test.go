package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// owned is a request of a repository for a target.
func owned(t *testing.T, target, root, list string) executor.Request {
	r := request(t, list)
	r.Target = target
	r.Repository = repo.Identity{Root: strings.Repeat(root, 40), Dir: "/src/" + root}
	return r
}

func (w *world) applied(r executor.Request) *executor.Report {
	w.t.Helper()
	rep, err := w.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
	w.must(err)
	return rep
}

// foreign is the text with which a request of another repository or target is refused, by
// plan and by apply; "" where it is not.
func (w *world) foreign(r executor.Request) string {
	w.t.Helper()
	p, err := w.x.Plan(context.Background(), r)
	if err == nil {
		return ""
	}
	if _, aerr := w.x.Apply(context.Background(), r, nil, executor.Options{}, nil); p != nil ||
		!errors.Is(err, executor.ErrForeign) || !errors.Is(aerr, executor.ErrForeign) {
		w.t.Fatalf("plan %v, %v; apply: %v", p, err, aerr)
	}
	return err.Error()
}

// TestForeignIsRefused: a list of another repository or target neither plans nor applies
// on a host with applied state, unless it adopts the host.
func TestForeignIsRefused(t *testing.T) {
	w := newWorld(t)
	first, next := owned(t, "web1", "a", "MKDIR /a\n"), owned(t, "web1", "b", "MKDIR /b\n")
	w.applied(first)
	for name, r := range map[string]executor.Request{
		"repository": next, "target": owned(t, "web2", "a", "MKDIR /b\n"),
		"target, same list": owned(t, "web2", "a", "MKDIR /a\n"),
	} {
		if got := w.foreign(r); !strings.Contains(got,
			`the target "web1" of the repository with the root commit aaaaaaaaaaaa in /src/a`) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := w.foreign(next); !strings.Contains(got, "this would remove file:/a;") {
		t.Errorf("%q", got)
	}
	next.Adopt = true
	p, err := w.x.Plan(context.Background(), next)
	if w.must(err); p.Count()[plan.Remove] != 1 || p.Count()[plan.Create] != 1 {
		t.Errorf("%+v", p.Count())
	}
	w.applied(next)
	next.Adopt = false
	if got := w.foreign(next); got != "" {
		t.Errorf("the new owner: %q", got)
	}
	if got := w.foreign(first); !strings.Contains(got, "file:/b;") {
		t.Errorf("the earlier owner: %q", got)
	}
	w.open() // what is recorded counts, not what this process knows
	if w.foreign(first) == "" {
		t.Error("the earlier owner is not refused by another process")
	}
}

// TestForeignAndRollback: a rollback is never refused, and gives the host back to the
// repository of the run that it goes back to. A host without managed addresses is free.
func TestForeignAndRollback(t *testing.T) {
	w := newWorld(t)
	first, next := owned(t, "web1", "a", "MKDIR /a\n"), owned(t, "web2", "b", "MKDIR /b\n")
	next.Adopt = true
	w.applied(first)
	w.applied(next)
	next.Adopt = false
	back := func(to int) {
		t.Helper()
		_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: to}, nil, executor.Options{}, nil)
		w.must(err)
	}
	back(1)
	if got := w.foreign(first); got != "" {
		t.Errorf("%q", got)
	}
	if got := w.foreign(next); !strings.Contains(got, `"web1"`) {
		t.Errorf("%q", got)
	}
	back(0)
	if got := w.foreign(next); got != "" {
		t.Errorf("%q", got)
	}
}

// TestForeignOfEarlierVersions: what recorded no repository accepts any, and records it
// with the next run, even if nothing else is to be done.
func TestForeignOfEarlierVersions(t *testing.T) {
	w := newWorld(t)
	old := request(t, "MKDIR /a\n")
	w.applied(old)
	next := owned(t, "web1", "a", "MKDIR /a\n")
	if rep := w.applied(next); rep.Run != 2 || rep.Changed != 0 {
		t.Errorf("%+v", rep)
	}
	if rep := w.applied(next); rep.Run != 0 {
		t.Errorf("it is recorded once, and not again: %+v", rep)
	}
	if w.foreign(owned(t, "web1", "b", "MKDIR /b\n")) == "" {
		t.Error("another repository is not refused")
	}
	if got := w.foreign(old); got != "" {
		t.Errorf("the same list of an unknown repository: %q", got)
	}
	if got := w.foreign(request(t, "MKDIR /b\n")); !strings.Contains(got, "an unknown repository") {
		t.Errorf("another list of an unknown repository: %q", got)
	}
}

// TestForeignNamesAtMostTwenty addresses that would be removed.
func TestForeignNamesAtMostTwenty(t *testing.T) {
	w := newWorld(t)
	var list strings.Builder
	for i := range 25 {
		fmt.Fprintf(&list, "MKDIR /d%02d\n", i)
	}
	w.applied(owned(t, "web1", "a", list.String()))
	got := w.foreign(owned(t, "web1", "b", "MKDIR /d00\n"))
	if !strings.Contains(got, "file:/d01, ") || !strings.Contains(got, "file:/d20, and 4 more;") ||
		strings.Contains(got, "/d21") {
		t.Errorf("%q", got)
	}
}

// TestDeclaredNameOfRepository: a declared name decides, whatever the history is.
func TestDeclaredNameOfRepository(t *testing.T) {
	w := newWorld(t)
	named := func(root, name, list string) executor.Request {
		r := owned(t, "web1", root, list)
		r.Policy.Repository = name
		return r
	}
	w.applied(named("a", "hosts", "MKDIR /a\n"))
	if got := w.foreign(named("b", "hosts", "MKDIR /b\n")); got != "" {
		t.Errorf("%q", got)
	}
	if got := w.foreign(named("a", "other", "MKDIR /b\n")); !strings.Contains(got, `the repository "hosts"`) ||
		!strings.Contains(got, `the repository "other"`) {
		t.Errorf("%q", got)
	}
}
