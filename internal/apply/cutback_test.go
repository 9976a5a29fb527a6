package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// TestAnotherDependency: a transaction can add another package than apt announced before it. A rollback removes it.
func TestAnotherDependency(t *testing.T) {
	w := newWorld(t)
	w.tap.count = func(op, path string) error {
		if op == host.OpRun && path == "apt-get" {
			w.tap.count = nil
			w.h.Repository().Publish(mem.Release{Name: "tool", Version: "2", Depends: []string{"extra"}})
		}
		return nil
	}
	_, err := w.apply(t, "PKG tool\n", executor.Options{})
	must(t, err)
	if got := w.versions(t, "tool", "extra"); got != "2,1" {
		t.Fatalf("tool and extra are %s", got)
	}
	must(t, w.rollback(0))
	if got := w.versions(t, "tool", "extra"); got != "," {
		t.Errorf("after the rollback, tool and extra are %s", got)
	}
}

// TestHalfTransaction: if dpkg stops and names no package, the first package that it left half done has the error, and
// the others refer to their transaction.
func TestHalfTransaction(t *testing.T) {
	w, steps := newWorld(t), 0
	w.tap.count = func(op, path string) error {
		if op == host.OpRun && path == "dpkg" {
			if steps++; steps == 7 { // two for each package and its dependency, and then they are configured
				return errors.New("it stops")
			}
		}
		return nil
	}
	x, err := w.open()
	must(t, err)
	var failed []string
	_, err = x.Apply(context.Background(), request(t, "PKG base version=1\nPKG client version=1\n"), nil,
		executor.Options{}, func(e executor.Event) {
			if e.Kind == "failed" {
				failed = append(failed, fmt.Sprintf("%s: %s", e.Addr, e.Text))
			}
		})
	if err == nil || len(failed) != 2 || !strings.HasPrefix(failed[0], "pkg:base: one of base, client: ") ||
		failed[1] != "pkg:client: the transaction of base, client failed" {
		t.Errorf("%v: %q", err, failed)
	}
}

// TestUndoOneByOneIsCutShort: a path blocks the undo of its batch, so each path is undone by itself. If the journal or
// the directory cannot be made durable meanwhile, the run is interrupted, and recovery undoes the rest.
func TestUndoOneByOneIsCutShort(t *testing.T) {
	const list = "COPY a /srv/new\nCOPY b /srv/newer\nCOPY bad /etc/checked validate=\"check %s\"\n"
	for n := 1; ; n++ {
		w := newWorld(t).copy()
		before := w.picture(t, true)
		blocked, seen, fault := false, 0, ""
		w.tap.count = func(op, path string) error {
			switch {
			case !blocked && op == host.OpRemove && path == "/srv/newer":
				blocked = true
				return errors.New("it is blocked")
			case blocked && (op == host.OpSyncDir && path == "/srv" || strings.HasPrefix(path, "/journal/")):
				if seen++; seen == n {
					fault = op + " " + path
					return errors.New("it cannot be made durable")
				}
			}
			return nil
		}
		_, err := w.apply(t, list, executor.Options{OnFailure: "undo"})
		w.tap.count = nil
		if fault == "" {
			if n < 10 || !errors.Is(err, executor.ErrUndone) {
				t.Errorf("without a fault after operation %d: %v", n, err)
			}
			return
		}
		if err == nil || errors.Is(err, executor.ErrUndone) {
			t.Errorf("%d, %s: the run ends as if it were durable: %v", n, fault, err)
		}
		if how, err := w.recover(executor.Options{}); err != nil {
			t.Errorf("%d, %s: %s: %v", n, fault, how, err)
		}
		if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
			t.Errorf("%d, %s:\n%s", n, fault, strings.Join(bad, "\n"))
		}
	}
}
