package apply_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/journal"
)

// TestNewTreeIsOneRename: whatever is in a new directory comes with it.
func TestNewTreeIsOneRename(t *testing.T) {
	w := newWorld(t)
	var rec fault.Recorder
	w.tap.count = rec.Count
	_, err := w.apply(t, newTree, executor.Options{})
	must(t, err)
	w.tap.count = nil
	var shown []string
	for line := range strings.Lines(rec.Trace()) {
		if p, ok := strings.CutPrefix(line, host.OpRenameNew+" "); ok {
			shown = append(shown, strings.TrimSpace(p))
		}
	}
	if fmt.Sprint(shown) != "[/srv/t]" {
		t.Errorf("shown one by one: %q", shown)
	}
	for p, mode := range map[string]uint32{"/srv/t": 0o750, "/srv/t/a": 0o755, "/srv/t/a/b": 0o555,
		"/srv/t/a/b/f": 0o640} {
		if st, err := w.h.Lstat(p); err != nil || st.Mode != mode {
			t.Errorf("%s has mode %o, %v, want %o", p, st.Mode, err, mode)
		}
	}
	must(t, w.rollback(0))
	if there, _ := host.Exists(w.h, "/srv/t"); there {
		t.Error("the tree is still there after the rollback")
	}
}

// TestPlaceBehindLink: a link that is there leads to a directory that is new.
func TestPlaceBehindLink(t *testing.T) {
	w := newWorld(t)
	must(t, w.h.Symlink("/srv/t", "/srv/alias"))
	_, err := w.apply(t, "MKDIR /srv/t\nCOPY x /srv/t/x\nCOPY y /srv/alias/y\nCOPY z /srv/z\n", executor.Options{})
	must(t, err)
	for _, p := range []string{"/srv/t/x", "/srv/t/y", "/srv/z"} {
		if text, err := read(w.h, p); err != nil || text == "" {
			t.Errorf("%s holds %q, %v", p, text, err)
		}
	}
	if _, err := w.apply(t, "COPY x /srv/nowhere/x\n", executor.Options{}); err == nil {
		t.Error("a place that nothing makes was reached")
	}
}

// TestSomebodyMakesTheTreeToo: what appears where the tree is to be stays.
func TestSomebodyMakesTheTreeToo(t *testing.T) {
	w := newWorld(t)
	var once atomic.Bool
	w.tap.count = func(op, p string) error {
		if op == host.OpCreate && strings.HasSuffix(p, "/a/b/f") && once.CompareAndSwap(false, true) {
			return errors.Join(w.h.Mkdir("/srv/t", 0o711), put(w.h, "/srv/t/foreign", "foreign"))
		}
		return nil
	}
	rep, err := w.apply(t, newTree, executor.Options{})
	w.tap.count = nil
	if err == nil || rep.Outcome != journal.Failed || rep.Failed.Addr != "file:/srv/t" {
		t.Errorf("the run ended with %v, %+v", err, rep.Failed)
	}
	if text, err := read(w.h, "/srv/t/foreign"); text != "foreign" || err != nil {
		t.Errorf("what was made by somebody else holds %q, %v", text, err)
	}
	if st, err := w.h.Lstat("/srv/t"); st.Mode != 0o711 || err != nil {
		t.Errorf("its directory has mode %o, %v", st.Mode, err)
	}
	noTemps(t, w)
}

// TestManyAtOnce: of files that are staged by several at once, one fails. Those
// before it in the list are made, and it is the failure.
func TestManyAtOnce(t *testing.T) {
	var list strings.Builder
	list.WriteString("MKDIR /srv/t\n")
	for d := range 4 {
		fmt.Fprintf(&list, "MKDIR /srv/t/%d\n", d)
		for f := range 90 {
			fmt.Fprintf(&list, "COPY c%d-%d /srv/t/%d/%02d\n", d, f, d, f)
		}
	}
	w := newWorld(t)
	w.tap.count = func(op, p string) error {
		if op == host.OpCreate && (strings.HasSuffix(p, "/2/50") || strings.HasSuffix(p, "/2/.fettle-1-235~") ||
			strings.HasSuffix(p, "/3/10")) {
			return syscall.EDQUOT
		}
		return nil
	}
	rep, err := w.apply(t, list.String(), executor.Options{})
	w.tap.count = nil
	if err == nil || rep.Failed.Addr != "file:/srv/t/2/50" {
		t.Fatalf("the run ended with %v, %+v", err, rep.Failed)
	}
	for p, want := range map[string]bool{"/srv/t/0/00": true, "/srv/t/1/89": true, "/srv/t/2/49": true,
		"/srv/t/2/50": false, "/srv/t/2/51": false, "/srv/t/3": false} {
		if there, err := host.Exists(w.h, p); there != want || err != nil {
			t.Errorf("%s is there: %v, %v", p, there, err)
		}
	}
	noTemps(t, w)
	if _, err := w.apply(t, list.String(), executor.Options{}); err != nil {
		t.Errorf("and on: %v", err)
	}
}

// noTemps finds what staging left.
func noTemps(t *testing.T, w *world) {
	t.Helper()
	got := w.picture(t, false)
	if bad := got.differs(false, got); len(bad) > 0 {
		t.Errorf("it leaves temporaries: %s", bad)
	}
}

// TestTreeShownBeforeAFailure: a directory is shown with all that is in it, also
// with what the list has behind a step that fails; so that is done, and goes back
// with the rest.
func TestTreeShownBeforeAFailure(t *testing.T) {
	const list = "MKDIR /srv/s\nCOPY a /srv/s/a\nCOPY u /srv/updated\nCOPY late /srv/s/late\nCOPY never /etc/never\n"
	for _, policy := range []string{"stop", "undo"} {
		w := newWorld(t)
		before := w.picture(t, true)
		w.tap.count = func(op, p string) error {
			if op == host.OpRename && p == "/srv/updated" {
				return syscall.EPERM
			}
			return nil
		}
		rep, err := w.apply(t, list, executor.Options{OnFailure: policy})
		w.tap.count = nil
		if err == nil || rep.Failed == nil || rep.Failed.Addr != "file:/srv/updated" {
			t.Fatalf("%s: %v, %+v", policy, err, rep)
		}
		if policy == "stop" {
			w.holds(t, "/srv/s/late", "late")
			if got := strs(w.applied(t)); !slices.Equal(got, []string{"file:/srv/s", "file:/srv/s/a", "file:/srv/s/late"}) {
				t.Errorf("applied is %q", got)
			}
			must(t, w.rollback(0))
		}
		if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
			t.Errorf("%s: %s", policy, strings.Join(bad, "\n"))
		}
	}
}
