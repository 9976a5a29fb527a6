package apply_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// versions are what is installed of packages, in their order.
func (w *world) versions(t *testing.T, names ...string) string {
	t.Helper()
	all, err := w.h.Repository().Installed(t.Context(), names)
	must(t, err)
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = all[n].Version
	}
	return strings.Join(out, ",")
}

// TestTiedBack: packages that need each other at one version go back with the
// run, and where one cannot, what can does and the other is told.
func TestTiedBack(t *testing.T) {
	const after = "COPY bad /etc/checked validate=\"check %s\"\n"
	for _, c := range []struct {
		gone, want string
		outcome    journal.Outcome
		err        error
	}{
		{"", "1,1,1", journal.RolledBack, executor.ErrUndone},
		{"client", "2,2,1", journal.Failed, nil},
	} {
		w := newWorld(t)
		if _, err := w.apply(t, tied1, executor.Options{}); err != nil {
			t.Fatal(err)
		}
		list := "PKG base version=2\nPKG client version=2\nPKG tool ensure=absent\n"
		r := w.h.Repository()
		if c.gone != "" {
			w.h.Repository().Publish(mem.Release{Name: "other", Version: "1"})
			r.Withdraw(c.gone, "1")
		}
		rep, err := w.apply(t, list+after, executor.Options{OnFailure: "undo"})
		if err == nil || c.err != nil && !errors.Is(err, c.err) || rep.Outcome != c.outcome {
			t.Errorf("without %q: %v, %+v", c.gone, err, rep)
		}
		if got := w.versions(t, "base", "client", "tool"); got != c.want {
			t.Errorf("without %q: base, client, tool are %s, want %s", c.gone, got, c.want)
		}
		if c.gone != "" {
			says(t, rep, "cannot undo pkg:client: ", "cannot undo pkg:base: ", "not undone: client, base")
		}
	}
}

// TestOneOf: a failure that names no package names those it may be about.
func TestOneOf(t *testing.T) {
	w := newWorld(t)
	w.h.Repository().Fail(errors.New("no network"))
	rep, err := w.apply(t, "PKG base version=1\nPKG client version=1\n", executor.Options{})
	if err == nil || !strings.HasPrefix(rep.Failed.Error, "one of base, client: ") {
		t.Errorf("%v, %+v", err, rep.Failed)
	}
	w.h.Repository().Fail(nil)
	rep, err = w.apply(t, "PKG base version=2\nPKG client version=1\n", executor.Options{})
	if err == nil || rep.Failed.Addr != "pkg:client" {
		t.Errorf("%v, %+v", err, rep.Failed)
	}
}
