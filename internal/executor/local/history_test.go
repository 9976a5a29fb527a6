package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// told is the report of one run as text: each state with its parts.
func told(t *testing.T, x executor.Executor, run int) string {
	t.Helper()
	s, err := x.Show(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, inv := range s.Invocations {
		for _, p := range inv.Parts {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s %s", inv.State, p.Action, p.Addr, p.Outcome, p.Error)))
		}
	}
	return strings.Join(out, "\n")
}

// TestShow: a run as it is told: by state, with what became of each part.
func TestShow(t *testing.T) {
	m := newWorld(t)
	m.mkdirs("/srv")
	ctx := context.Background()
	r := request(t, "MKDIR /srv/www\nCOPY 1 /srv/www/a\nEXEC x true creates=/none\nACT run after true on=file:/srv/www/a\nCHECK good file=/srv/www/a within=1s\n")
	r.States = []executor.StateRef{{ID: "directory.www", Source: "m.hcl:3",
		Addrs: []addr.Addr{"file:/srv/www", "file:/srv/www/a"}}}
	r.Revision.Commit = "abc123"
	if _, err := m.x.Apply(ctx, r, nil, executor.Options{User: "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	want := "directory.www: create file:/srv/www done\ndirectory.www: create file:/srv/www/a done\nexec:x: run exec:x done\n" +
		"act:run/after: run act:run/after done\ncheck:good: verify check:good done"
	if got := told(t, m.x, 1); got != want {
		t.Errorf("run 1 is told as\n%s\nwant\n%s", got, want)
	}
	r = request(t, "COPY 1 /srv/b\nCOPY 2 /srv/c validate=false\nCOPY 3 /srv/d\n")
	if _, err := m.x.Apply(ctx, r, nil, executor.Options{OnFailure: "undo"}, nil); !errors.Is(err, executor.ErrUndone) {
		t.Fatal(err)
	}
	if got := told(t, m.x, 2); !strings.Contains(got, "create file:/srv/b undone") ||
		!strings.Contains(got, "create file:/srv/c failed") || !strings.Contains(got, "create file:/srv/d skipped") {
		t.Errorf("run 2 is told as\n%s", got)
	}
	if _, err := m.x.Show(ctx, 9); err == nil || !strings.Contains(err.Error(), "there is no run 9") {
		t.Errorf("run 9: %v", err)
	}
	for commit, want := range map[string]string{"abc": "1 true", "abc123": "1 true", "b": "0 false"} {
		run, ok, err := m.x.RunOf(ctx, commit)
		if got := fmt.Sprint(run, ok); err != nil || got != want {
			t.Errorf("the run of %s is %s, %v", commit, got, err)
		}
	}
	l, err := m.x.List(ctx, 1)
	none, nerr := m.x.List(ctx, 0)
	if err != nil || nerr != nil || len(l) != 5 || len(none) != 0 {
		t.Errorf("lists of %d and %d steps, %v, %v", len(l), len(none), err, nerr)
	}
	if _, err := m.x.List(ctx, 9); err == nil || !strings.Contains(err.Error(), "to list the stored runs: fettle log") {
		t.Errorf("the list of no run: %v", err)
	}
}

// TestRunDetails: a stored run has the differences of its content, if the caller asks for them, and the
// durations of its commands.
func TestRunDetails(t *testing.T) {
	m := newWorld(t)
	m.mkdirs("/srv")
	ctx := context.Background()
	for _, list := range []string{"COPY 1 /srv/a\n", "COPY 2 /srv/a\nEXEC x true creates=/none\n", "COPY 3 /srv/a\n"} {
		if _, err := m.x.Apply(ctx, request(t, list), nil, executor.Options{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	x := m.x.(executor.DetailsReader)
	plain, err := x.RunDetails(ctx, 2, false)
	d, derr := x.RunDetails(ctx, 2, true)
	if err != nil || derr != nil || len(d.Plan.Changes) != 2 || plain.Plan.Changes[0].Diff != "" {
		t.Fatalf("%+v, %v, %v", d, err, derr)
	}
	if got := d.Plan.Changes[0].Diff; !strings.Contains(got, "\n-") || !strings.Contains(got, "\n+") {
		t.Errorf("the difference is %q", got)
	}
	if _, ok := d.Took[1]; !ok || len(d.Invocations) != 2 {
		t.Errorf("%+v", d)
	}
	if _, err := x.RunDetails(ctx, 9, true); err == nil || !strings.Contains(err.Error(), "there is no run 9") {
		t.Error(err)
	}
}

// TestSourceOrderOfARun: the journal stores the order of states that the source declares. A request to another process
// does not carry this order.
func TestSourceOrderOfARun(t *testing.T) {
	if overWire() {
		return
	}
	m := newWorld(t)
	m.mkdirs("/srv")
	ctx := context.Background()
	r := request(t, "MKDIR /srv/a\nMKDIR /srv/b\n")
	r.States = []executor.StateRef{{ID: "directory.a", Addrs: []addr.Addr{"file:/srv/a"}},
		{ID: "directory.b", Addrs: []addr.Addr{"file:/srv/b"}, After: []string{"directory.a"}}}
	if _, err := m.x.Apply(ctx, r, nil, executor.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	d, err := m.x.(executor.DetailsReader).RunDetails(ctx, 1, false)
	if err != nil || len(d.States) != 2 || len(d.States[0].After) != 0 ||
		!slices.Equal(d.States[1].After, []string{"directory.a"}) ||
		!slices.Equal(d.After["directory.b"], d.States[1].After) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestChecksWithoutARun: when nothing is to be done, checks run all the same,
// and the history has no run for it.
func TestChecksWithoutARun(t *testing.T) {
	m := newMachine(t)
	ctx := context.Background()
	files := map[string]string{"a": "A"}
	list := "COPY a /etc/a\nCHECK good file=/etc/a within=1s\nCHECK bad file=/etc/b within=1ms\nCHECK worse file=/etc/c within=1ms\n"
	m.write("/etc/b", "")
	m.write("/etc/c", "")
	m.apply(list, files)
	m.must(m.remove("/etc/b"))
	m.must(m.remove("/etc/c"))
	var seen []string
	rep, err := m.x.Apply(ctx, m.request(list, files), nil, executor.Options{},
		func(e executor.Event) { seen = append(seen, e.Kind+" "+string(e.Addr)) })
	if !errors.Is(err, executor.ErrCheckFailed) || rep.Run != 0 || rep.Outcome != journal.CheckFailed ||
		rep.Failed.Addr != "check:bad" || len(rep.Checks) != 3 || !rep.Checks[0].OK {
		t.Errorf("%v, %+v", err, rep)
	}
	if got := strings.Join(seen, ", "); got != "done check:good, failed check:bad, failed check:worse" {
		t.Errorf("shown: %s", got)
	}
	if runs, err := m.x.Runs(ctx); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestConfirming: in time, too late, twice, and what is refused meanwhile.
func TestConfirming(t *testing.T) {
	m := newMachine(t)
	ctx := context.Background()
	files := map[string]string{"a": "A", "b": "B"}
	o := executor.Options{ConfirmWithin: time.Minute}
	if _, err := m.x.Apply(ctx, m.request("COPY a /etc/a\n", files), nil, o, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.x.Apply(ctx, m.request("COPY b /etc/a\n", files), nil, o, nil); err == nil ||
		!strings.Contains(err.Error(), "run 1 waits for its confirmation until") {
		t.Errorf("a second run: %v", err)
	}
	s, err := m.x.Status(ctx)
	if err != nil || s.Armed == nil || s.Armed.Run != 1 || s.State.Run != 1 || s.Last.Header.Run != 1 ||
		s.Unfinished != 0 || s.Frozen != nil || s.Locked != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if run, err := m.x.Confirm(ctx, executor.Options{}); run != 1 || err != nil {
		t.Errorf("confirmed %d, %v", run, err)
	}
	if _, err := m.x.Confirm(ctx, executor.Options{}); err == nil || !strings.Contains(err.Error(), "no run waits") {
		t.Errorf("twice: %v", err)
	}
	if _, err := m.x.Apply(ctx, m.request("COPY b /etc/a\n", files), nil, o, nil); err != nil {
		t.Fatal(err)
	}
	m.clock = m.clock.Add(time.Hour)
	if run, err := m.x.Confirm(ctx, executor.Options{}); run != 2 || err == nil ||
		!strings.Contains(err.Error(), "the time to confirm run 2 is over") {
		t.Errorf("too late: %d, %v", run, err)
	}
	m.want("/etc/a", "B")
	if rep, err := m.x.Recover(ctx, executor.Options{}, nil); err != nil ||
		!strings.Contains(strings.Join(rep.Notes, " "), "run 2 was not confirmed in time") {
		t.Errorf("%+v, %v", rep, err)
	}
	m.want("/etc/a", "A")
}

// TestArmedRunThatFails needs no confirmation, and one that nobody would take
// back does not begin.
func TestArmedRunThatFails(t *testing.T) {
	m := newMachine(t)
	ctx := context.Background()
	o := executor.Options{ConfirmWithin: time.Minute, OnFailure: "undo"}
	rep, err := m.x.Apply(ctx, m.request("COPY a /etc/a validate=false\n", map[string]string{"a": "A"}), nil, o, nil)
	if !errors.Is(err, executor.ErrUndone) || rep.ConfirmBy != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	if s, err := m.x.Status(ctx); err != nil || s.Armed != nil {
		t.Errorf("%+v, %v", s.Armed, err)
	}
	for name, guard := range map[string]func(context.Context, time.Time) error{
		"nothing would undo it": nil,
		"no timer today":        func(context.Context, time.Time) error { return errors.New("no timer today") },
	} {
		w := newWorld(t)
		w.ops.Reset()
		x, err := local.New(w.h, w.state, local.Options{Ballast: -1, Guard: guard})
		w.must(err)
		if _, err := x.Apply(ctx, request(t, "COPY 1 /m/a\n"), nil, o, nil); err == nil ||
			!strings.Contains(err.Error(), name) || w.ops.N() > 0 {
			t.Errorf("%v after %d operations, want %q", err, w.ops.N(), name)
		}
	}
}

// TestLocked: whoever comes second is told who is at work.
func TestLocked(t *testing.T) {
	m := newWorld(t)
	ctx := context.Background()
	r := request(t, "EXEC wait true creates=/none\n")
	var errs []error
	var seen executor.Status
	first := m.x
	show := func(executor.Event) {
		if len(errs) > 0 {
			return
		}
		m.open()
		x := m.x
		_, aerr := x.Apply(ctx, r, nil, executor.Options{}, nil)
		_, rerr := x.Rollback(ctx, executor.RollbackRequest{}, nil, executor.Options{}, nil)
		_, serr := x.Recover(ctx, executor.Options{}, nil)
		_, cerr := x.Confirm(ctx, executor.Options{})
		_, gerr := x.Collect(ctx, journal.Retention{}, executor.Options{})
		_, perr := x.Plan(ctx, r)
		_, derr := x.Drift(ctx, executor.DriftOptions{})
		errs = append(errs, aerr, rerr, serr, cerr, gerr, x.Freeze(ctx, journal.Frozen{}, executor.Options{}),
			x.Unfreeze(ctx, executor.Options{}), perr, derr)
		seen, _ = x.Status(ctx)
	}
	if _, err := first.Apply(ctx, r, nil, executor.Options{User: "ann", Command: "fettle apply"}, show); err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if !errors.Is(err, executor.ErrLocked) || !strings.Contains(err.Error(), "by ann") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if len(errs) != 9 || !strings.Contains(seen.Locked, "fettle apply") || seen.Unfinished != 1 {
		t.Errorf("%d, %+v", len(errs), seen)
	}
}

// TestStaleRollback: a rollback does what was shown, or nothing.
func TestStaleRollback(t *testing.T) {
	m := newMachine(t)
	ctx := context.Background()
	m.apply("COPY a /etc/a\n", map[string]string{"a": "A"})
	m.apply("COPY a /etc/a\n", map[string]string{"a": "B"})
	p, err := m.x.PlanRollback(ctx, executor.RollbackRequest{To: 1, Diffs: true})
	if err != nil || !strings.Contains(p.Changes[0].Diff, "-B") || !strings.Contains(p.Changes[0].Diff, "+A") {
		t.Fatalf("%v, %+v", err, p)
	}
	m.write("/etc/a", "meanwhile")
	if _, err := m.x.Rollback(ctx, executor.RollbackRequest{To: 1}, p, executor.Options{}, nil); !errors.Is(err,
		executor.ErrStale) {
		t.Errorf("error %v", err)
	}
	m.want("/etc/a", "meanwhile")
	for to, want := range map[int]string{-1: "cannot restore the state after run -1", 3: "the last run is 2"} {
		if _, err := m.x.PlanRollback(ctx, executor.RollbackRequest{To: to}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("to %d: %v", to, err)
		}
	}
	if rep, err := m.x.Rollback(ctx, executor.RollbackRequest{To: 2}, nil, executor.Options{}, nil); err != nil ||
		rep.Outcome != journal.Succeeded {
		t.Errorf("to where it is: %+v, %v", rep, err)
	}
}

// TestDriftIsTold: what is not as applied, with its difference, and what cannot
// even be compared.
func TestDriftIsTold(t *testing.T) {
	m := newMachine(t)
	ctx := context.Background()
	m.apply("COPY a /etc/a\nCOPY b /etc/b\nMKDIR /srv/d purge=true\n", map[string]string{"a": "A\n", "b": "B\x00"})
	m.write("/etc/a", "other\n")
	m.write("/etc/b", "text")
	m.write("/srv/d/foreign", "")
	p, err := m.x.Drift(ctx, executor.DriftOptions{Diffs: true, Verify: true})
	if err != nil || len(p.Changes) != 3 {
		t.Fatalf("%v, %s", err, actions(p))
	}
	if c := p.Changes[0]; !strings.Contains(c.Diff, "-other\n+A\n") || c.Action != plan.Repair {
		t.Errorf("%+v", c)
	}
	if !p.Changes[1].Binary {
		t.Error("a zero byte passes for text")
	}
	m.must(m.remove("/etc/a"))
	m.write("/etc/a/below", "")
	if p, err = m.x.Drift(ctx, executor.DriftOptions{}); err != nil || !strings.Contains(actions(p), "drift file:/etc/a") {
		t.Errorf("%v, %s", err, actions(p))
	}
}
