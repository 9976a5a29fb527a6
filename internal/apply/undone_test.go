package apply_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
)

// cutsFrom runs a list that fails, and gives the worlds as power cuts leave them
// from the first operation that matches on, a few dice for each.
func (w *world) cutsFrom(t *testing.T, list, op, path string) (cuts []*world) {
	t.Helper()
	begun := false
	w.tap.count = func(o, p string) error {
		if begun = begun || o == op && p == path; begun {
			for seed := range uint64(3) {
				cuts = append(cuts, w.crash(rand.New(rand.NewPCG(seed, 7))))
			}
		}
		return nil
	}
	_, err := w.apply(t, list, executor.Options{OnFailure: "undo"})
	w.tap.count = nil
	if !errors.Is(err, executor.ErrUndone) || !begun {
		t.Fatalf("begun %v: %v", begun, err)
	}
	return cuts
}

// TestUndoOfACommandIsCutShort: where a guard tells whether it took effect, it
// runs again only if it did not, and either way nothing of the run is left. Where
// none does, it never runs twice and the run says so.
func TestUndoOfACommandIsCutShort(t *testing.T) {
	for guard, want := range map[string]string{" creates=/srv/db": "rolled-back",
		"": "cannot detect whether it took effect"} {
		list := "EXEC makedb /usr/bin/makedb" + guard + " undo=/usr/bin/dropdb\nCOPY bad /etc/checked validate=\"check %s\"\n"
		w := newWorld(t).copy()
		before := w.picture(t, true)
		told, unfinished := 0, 0
		for i, cut := range w.cutsFrom(t, list, host.OpRun, "/usr/bin/dropdb") {
			ran := 0
			cut.tap.count = func(op, path string) error {
				if op == host.OpRun && path == "/usr/bin/dropdb" {
					ran++
				}
				return nil
			}
			there, _ := host.Exists(cut.h, "/srv/db")
			how, err := cut.recover(executor.Options{})
			cut.tap.count = nil
			must(t, err)
			if strings.HasPrefix(how, "nothing to recover") {
				continue
			}
			unfinished++
			if strings.Contains(how, want) {
				told++
				if guard == "" && !strings.HasPrefix(how, "failed") {
					t.Errorf("cut %d: what may still be there passes for undone: %s", i, how)
				}
			}
			if guard == "" && ran > 0 {
				t.Errorf("cut %d: it ran again: %s", i, how)
			}
			if guard == "" {
				continue
			}
			if bad := cut.picture(t, true).differs(false, before); len(bad) > 0 || (ran > 0) != there {
				t.Errorf("cut %d: the undo ran %d times where the effect was there %v: %s\n%s", i, ran, there, how,
					strings.Join(bad, "\n"))
			}
		}
		if told == 0 || guard != "" && told != unfinished {
			t.Errorf("%q: %d of %d say %q", guard, told, unfinished, want)
		}
	}
}

// TestAddressThatRecoveryCannotSee: a change that was under way, of which nobody
// can tell now how far it came, does not pass for undone.
func TestAddressThatRecoveryCannotSee(t *testing.T) {
	for policy, want := range map[string]string{"undo": "cannot undo user:zoe", "finish": "zoe"} {
		cut := newWorld(t).copy().cutAt(t, "USER zoe uid=1800\n", host.OpRename, "/etc/passwd")
		must(t, errors.Join(cut.h.Remove("/etc/passwd"), cut.h.Mkdir("/etc/passwd", 0o755)))
		how, err := cut.recover(executor.Options{OnCrash: policy})
		if err != nil || !strings.HasPrefix(how, "failed") || !strings.Contains(how, want) {
			t.Errorf("%s: %s, %v", policy, how, err)
		}
	}
}

// TestActionThatFailsWhenItsRunIsUndone: no program has read the restored configuration
// then, so the action stays pending. One that succeeds does not.
func TestActionThatFailsWhenItsRunIsUndone(t *testing.T) {
	const notified = "COPY good /etc/app.conf\nACT run load /usr/bin/load on=file:/etc/app.conf\n"
	for _, failures := range []int{1, 2} {
		w, ran := newWorld(t).copy(), 0
		w.tap.count = func(op, path string) error {
			if op != host.OpRun || path != "/usr/bin/load" {
				return nil
			}
			if ran++; ran > failures {
				return nil
			}
			return errors.New("it fails")
		}
		if _, err := w.apply(t, notified, executor.Options{OnFailure: "undo"}); !errors.Is(err, executor.ErrUndone) ||
			ran != 2 {
			t.Fatalf("the action ran %d times: %v", ran, err)
		}
		// This list has the same notification, and changes nothing.
		_, err := w.apply(t, "META /etc/app.conf mode=0644\nACT run load /usr/bin/load on=file:/etc/app.conf\n",
			executor.Options{})
		must(t, err)
		if want := 2 + failures - 1; ran != want {
			t.Errorf("after %d failures the action ran %d times and not %d", failures, ran, want)
		}
	}
}
