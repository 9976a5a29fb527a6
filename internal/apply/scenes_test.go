package apply_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// says looks for words in what a report tells.
func says(t *testing.T, rep *executor.Report, words ...string) {
	t.Helper()
	for _, w := range words {
		if rep == nil || !strings.Contains(strings.Join(rep.Notes, "\n"), w) {
			t.Errorf("no note says %q: %+v", w, rep)
		}
	}
}

func (w *world) holds(t *testing.T, p, want string) {
	t.Helper()
	if got, err := read(w.h, p); err != nil || got != want {
		t.Errorf("%s holds %q, %v, want %q", p, got, err, want)
	}
}

// TestFailureListeners: what listens to a failure runs, and says so when it
// fails too.
func TestFailureListeners(t *testing.T) {
	for program, want := range map[string]string{"/usr/bin/load": "ran, notified by the failure of file:/etc/checked",
		"/usr/bin/none": "failed too"} {
		w := newWorld(t)
		rep, err := w.apply(t, "COPY bad /etc/checked validate=\"check %s\"\nACT run rescue "+program+
			" on_failure=file:/etc/checked\n", executor.Options{})
		if err == nil {
			t.Fatal("bad content was taken")
		}
		says(t, rep, want)
		w.holds(t, "/etc/checked", "good origin")
	}
}

// TestChecks: a run whose check fails stays, or goes, as asked; who listens to
// the check runs.
func TestChecks(t *testing.T) {
	list := "COPY a /srv/new\nCHECK there file=/srv/none within=1ms\nCHECK too file=/srv/neither within=1ms\nACT run load /usr/bin/load on_failure=check:there\n"
	w := newWorld(t)
	rep, err := w.apply(t, list, executor.Options{})
	if !errors.Is(err, executor.ErrCheckFailed) || rep.Outcome != journal.CheckFailed || len(rep.Checks) != 2 ||
		rep.Failed.Addr != "check:there" {
		t.Errorf("%v, %+v", err, rep)
	}
	says(t, rep, "act:run/load ran, notified by the failure of check:there")
	w.holds(t, "/srv/new", "a")
	w = newWorld(t)
	if rep, err = w.apply(t, list, executor.Options{OnCheckFailure: "rollback"}); !errors.Is(err, executor.ErrUndone) ||
		rep.Outcome != journal.RolledBack {
		t.Errorf("%v, %+v", err, rep)
	}
	if there, _ := host.Exists(w.h, "/srv/new"); there {
		t.Error("the file stays")
	}
}

// TestWaits: a wait holds what is behind it up, fails the run when it ends in
// vain, changes nothing that could be undone, and does not stand in the plan
// of a run that has nothing else to do.
func TestWaits(t *testing.T) {
	const vain = "COPY a /srv/before\nWAIT there file=/srv/none timeout=1ms\nCOPY b /srv/behind\n"
	w := newWorld(t)
	rep, err := w.apply(t, vain, executor.Options{})
	if err == nil || rep.Failed == nil || rep.Failed.Addr != "wait:there" || len(rep.Remaining) != 1 {
		t.Errorf("%v, %+v", err, rep)
	}
	w.holds(t, "/srv/before", "a")
	if there, _ := host.Exists(w.h, "/srv/behind"); there {
		t.Error("what is behind the wait was done")
	}
	w = newWorld(t)
	before := w.picture(t, true)
	if _, err = w.apply(t, vain, executor.Options{OnFailure: "undo"}); !errors.Is(err, executor.ErrUndone) {
		t.Errorf("%v", err)
	}
	if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
	const good = "EXEC makedb /usr/bin/makedb creates=/srv/db undo=/usr/bin/dropdb\nWAIT there file=/srv/db contains=made timeout=1ms\nCOPY b /srv/behind\n"
	w = newWorld(t)
	if rep, err = w.apply(t, good, executor.Options{}); err != nil || rep.Changed != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
	w.holds(t, "/srv/behind", "b")
	if rep, err = w.apply(t, strings.Replace(good, "file=/srv/db contains=made", "file=/srv/none", 1),
		executor.Options{}); err != nil || rep.Changed != 0 {
		t.Errorf("it waits for nothing: %v, %+v", err, rep)
	}
}

// TestKeysOfOneFile: values in one document come and go in any order, and a file
// and a mapping that were made for them go with the last one.
func TestKeysOfOneFile(t *testing.T) {
	const ours = "{\n  \"theirs\": {}\n}\n"
	line := func(key, value string) string {
		return "EDIT /etc/doc.json key=" + key + " value=" + value + " format=json create=true\n"
	}
	for _, file := range []string{"", ours} {
		for _, order := range [][]string{{"a.b", "a.c", "d"}, {"d", "a.c", "a.b"}, {"a.c", "d", "a.b"}} {
			w := newWorld(t).copy()
			if file != "" {
				must(t, put(w.h, "/etc/doc.json", file))
			}
			before := w.picture(t, true)
			left := map[string]string{"a.b": "1", "a.c": "[2]", "d": "true"}
			for range len(left) + 1 {
				list := ""
				for _, key := range []string{"a.b", "a.c", "d"} {
					if v, ok := left[key]; ok {
						list += line(key, v)
					}
				}
				_, err := w.apply(t, list, executor.Options{})
				must(t, err)
				if len(order) > 0 {
					delete(left, order[0])
					order = order[1:]
				}
			}
			if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
				text, _ := read(w.h, "/etc/doc.json")
				t.Errorf("%q: %s\n%s", file, strings.Join(bad, "\n"), text)
			}
		}
	}
}

// TestBrokenPackages: what an interrupted dpkg left is finished first; what
// cannot be had is a failure of its step.
func TestBrokenPackages(t *testing.T) {
	w := newWorld(t)
	w.h.Repository().Break("web is half-configured")
	rep, err := w.apply(t, "PKG tool\n", executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	says(t, rep, "an earlier change of packages was interrupted and is finished first: web is half-configured")
	w = newWorld(t)
	w.h.Repository().Fail(errors.New("no network"))
	rep, err = w.apply(t, "COPY a /srv/new\nPKG tool\nPKG web version=1\n", executor.Options{OnFailure: "undo"})
	if !errors.Is(err, executor.ErrUndone) || rep.Failed.Addr != "pkg:tool" {
		t.Errorf("%v, %+v", err, rep)
	}
}

// TestUnitFiles: systemd reads unit files before a step about units, and at the
// end at the latest.
func TestUnitFiles(t *testing.T) {
	for _, more := range []string{"", "UNIT app.service active=true\n",
		"ACT restart app.service on=file:/etc/systemd/system/app.service\n"} {
		w := newWorld(t)
		w.mkdir(t, "/etc/systemd/system")
		if _, err := w.apply(t, "COPY unit /etc/systemd/system/app.service\n"+more, executor.Options{}); err != nil {
			t.Fatal(err)
		}
		if stale, err := w.h.Services().NeedsReload(t.Context(), "app.service"); err != nil || stale {
			t.Errorf("%q: the manager goes by the old file: %v, %v", more, stale, err)
		}
		must(t, w.rollback(0))
	}
	w := newWorld(t)
	w.h.Services().Define("broken.service", image.Unit{Loaded: true, State: "disabled", Active: "inactive"})
	w.h.Services().Fail("start", "broken.service", errors.New("it does not start"))
	rep, err := w.apply(t, "COPY a /srv/new\nUNIT broken.service enabled=true active=true\n",
		executor.Options{OnFailure: "undo"})
	if !errors.Is(err, executor.ErrUndone) || !strings.Contains(rep.Failed.Error, "it does not start") {
		t.Errorf("%v, %+v", err, rep)
	}
	if u, err := w.h.Services().Unit(t.Context(), "broken.service"); err != nil || u.State != "disabled" {
		t.Errorf("the unit is half on: %+v, %v", u, err)
	}
}

// cutAt runs a list and gives the world as a power cut before the n-th operation
// that matches leaves it.
func (w *world) cutAt(t *testing.T, list, op, path string) *world {
	t.Helper()
	var cut *world
	w.tap.count = func(o, p string) error {
		if cut == nil && o == op && p == path {
			cut = w.crash(rand.New(rand.NewPCG(3, 3)))
		}
		return nil
	}
	_, err := w.apply(t, list, executor.Options{})
	w.tap.count = nil
	must(t, err)
	if cut == nil {
		t.Fatalf("no operation %s %s", op, path)
	}
	return cut
}

// TestCommandThatACrashCutShort: without a guard nothing tells whether it took
// effect; it is not run again by itself, and the run says so.
func TestCommandThatACrashCutShort(t *testing.T) {
	list := "COPY a /srv/new\nEXEC makedb /usr/bin/makedb\nCOPY b /srv/newer\n"
	for policy, want := range map[string]string{"finish": "no guard can detect whether it took effect",
		"undo": "has no undo, so its effects stay] stays [exec:makedb]"} {
		cut := newWorld(t).copy().cutAt(t, list, host.OpRun, "/usr/bin/makedb")
		how, err := cut.recover(executor.Options{OnCrash: policy})
		if err != nil || !strings.Contains(how, want) {
			t.Errorf("%s: %s, %v, want %q", policy, how, err, want)
		}
		if there, _ := host.Exists(cut.h, "/srv/db"); there {
			t.Errorf("%s: the command ran again", policy)
		}
	}
}

// TestSomebodyElseAfterACrash: what somebody changed between the crash and
// recovery stays as it is, and is told; all else is settled.
func TestSomebodyElseAfterACrash(t *testing.T) {
	list := "COPY a /srv/new\nCOPY b /srv/updated\nUSER zoe uid=1800\nCOPY c /srv/newer\n"
	for _, policy := range []string{"undo", "finish"} {
		w := newWorld(t).copy()
		late := w.cutAt(t, list, host.OpCreate, "/srv/.fettle-1-3~")
		must(t, put(late.h, "/srv/updated", "theirs"))
		how, err := late.recover(executor.Options{OnCrash: policy})
		if err != nil {
			t.Errorf("%s: %s, %v", policy, how, err)
		}
		late.holds(t, "/srv/updated", "theirs")
		if policy == "undo" && !strings.Contains(how, "cannot undo /srv/updated: others have changed it since") {
			t.Errorf("undo: %s", how)
		}
		there, _ := host.Exists(late.h, "/srv/new")
		if there != (policy == "finish") {
			t.Errorf("%s: /srv/new there %v; %s", policy, there, how)
		}
	}
}

// TestEveryCutOfListeners: actions, checks and commands are settled too,
// whatever operation the power goes at.
func TestEveryCutOfListeners(t *testing.T) {
	list := "COPY a /etc/app.conf\nACT run load /usr/bin/load on=file:/etc/app.conf\nEXEC makedb /usr/bin/makedb creates=/srv/db undo=/usr/bin/dropdb\nWAIT made file=/srv/db timeout=1ms\nCOPY bad /etc/checked validate=\"check %s\"\nACT run rescue /usr/bin/load on_failure=file:/etc/checked\nCHECK there file=/etc/app.conf within=1ms\n"
	w := newWorld(t).copy()
	before := w.picture(t, true)
	var worlds []*world
	w.tap.count = func(string, string) error {
		worlds = append(worlds, w.crash(rand.New(rand.NewPCG(uint64(len(worlds)), 5))))
		return nil
	}
	if _, err := w.apply(t, list, executor.Options{}); err == nil {
		t.Fatal("bad content was taken")
	}
	w.tap.count = nil
	for i, cut := range worlds {
		if i%stride != 0 {
			continue
		}
		for _, policy := range []string{"undo", "finish"} {
			c := cut.copy()
			how, err := c.recover(executor.Options{OnCrash: policy})
			if err != nil {
				t.Errorf("cut %d, %s: %s: %v", i, policy, how, err)
				continue
			}
			bad := c.picture(t, true).differs(false, before)
			if policy == "undo" && len(bad) > 0 && !strings.HasPrefix(how, "nothing to recover") {
				t.Errorf("cut %d, %s: %s\n%s", i, policy, how, strings.Join(bad, "\n"))
			}
			if text, _ := read(c.h, "/etc/checked"); text != "good origin" {
				t.Errorf("cut %d, %s: bad content stays: %q", i, policy, text)
			}
		}
	}
	if len(worlds) < 20 {
		t.Errorf("only %d operations", len(worlds))
	}
}

// TestUnitThatChangesLate: what a killed run had asked systemd for comes to pass
// after it is dead; recovery takes that into account.
func TestUnitThatChangesLate(t *testing.T) {
	ctx := context.Background()
	for policy, want := range map[string]string{"undo": "disabled", "finish": "enabled"} {
		w := newWorld(t).copy()
		w.h.Services().Define("late.service", image.Unit{Loaded: true, State: "disabled", Active: "inactive"})
		cut := w.cutAt(t, "UNIT late.service enabled=true\n", host.OpRun, "systemctl")
		cut.h.Services().Late("late.service", image.Unit{Loaded: true, State: "enabled", Active: "inactive"})
		how, err := cut.recover(executor.Options{OnCrash: policy})
		must(t, err)
		must(t, cut.h.Services().Reload(ctx))
		if u, err := cut.h.Services().Unit(ctx, "late.service"); err != nil || u.State != want {
			t.Errorf("%s: %+v, %v, want %s; %s", policy, u, err, want, how)
		}
	}
}
