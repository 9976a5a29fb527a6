package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// attribute changes one attribute of a path by hand; a nil value removes it.
func (w *world) attribute(p, name string, value []byte) {
	w.t.Helper()
	n, err := w.aside.OpenNode(p)
	w.must(err)
	if value == nil {
		w.must(errors.Join(n.RemoveXattr(name), n.Close()))
		return
	}
	w.must(errors.Join(n.SetXattr(name, value), n.Close()))
}

func (w *world) driftOf(o executor.DriftOptions) string {
	w.t.Helper()
	p, err := w.x.Drift(context.Background(), o)
	w.must(err)
	var out []string
	for _, c := range p.Changes {
		if c.Action != plan.Drift || !c.Drifted {
			w.t.Fatalf("%+v", c)
		}
		for _, d := range c.Differences {
			out = append(out, string(c.Addr)+" "+d.Field+": "+d.Old+" -> "+d.New)
		}
	}
	return strings.Join(out, "\n")
}

// TestDriftOfAttributes: what was added to or taken from a managed path by hand is
// drift with --verify, and what was there before is not.
func TestDriftOfAttributes(t *testing.T) {
	all := executor.DriftOptions{Verify: true, Attributes: executor.AttributeKinds()}
	common := executor.DriftOptions{Verify: true, Attributes: executor.DefaultAttributes()}
	for _, collected := range []bool{false, true} {
		w := newWorld(t)
		w.mkdirs("/t")
		w.write("/t/kept", "by hand\n")
		w.attribute("/t/kept", "user.before", []byte("1"))
		w.write("/t/adopted", "one\n")
		w.attribute("/t/adopted", "user.before", []byte("1"))
		w.listApplied("COPY 1 /t/new\nMKDIR /t/d\nCOPY 2 /t/kept\nCOPY 1 /t/adopted\n")
		if collected {
			w.listApplied("COPY 1 /t/new\nMKDIR /t/d\nCOPY 2 /t/kept\nCOPY 1 /t/adopted\nCOPY 1 /t/last\n")
			w.listApplied("COPY 1 /t/new\nMKDIR /t/d\nCOPY 2 /t/kept\nCOPY 1 /t/adopted\n")
			_, err := w.x.Collect(context.Background(), journal.Retention{Runs: 1}, executor.Options{})
			w.must(err)
		}
		if got := w.driftOf(all); got != "" {
			t.Errorf("untouched: %s", got)
		}
		w.attribute("/t/new", "security.capability", capability)
		w.attribute("/t/d", "system.posix_acl_default", []byte{2, 0, 0, 0})
		w.attribute("/t/kept", "user.before", []byte("2"))
		w.attribute("/t/adopted", "user.before", nil)
		want := "file:/t/d acl: system.posix_acl_default -> none\nfile:/t/new capability: security.capability -> none"
		if got := sorted(w.driftOf(common)); got != want {
			t.Errorf("%s", got)
		}
		want += "\nfile:/t/adopted user: none -> user.before\nfile:/t/kept user: user.before (another value) -> user.before (another value)"
		if got := sorted(w.driftOf(all)); got != sorted(want) {
			t.Errorf("%s", got)
		}
		if got := w.driftOf(executor.DriftOptions{Attributes: common.Attributes}); got != "" {
			t.Errorf("without --verify: %s", got)
		}
		if got := w.driftOf(executor.DriftOptions{Verify: true}); got != "" {
			t.Errorf("none: %s", got)
		}
		n, err := w.aside.OpenNode("/t/new")
		w.must(err)
		w.must(errors.Join(n.SetAttrs(host.AttrImmutable), n.Close()))
		if got := w.driftOf(common); !strings.Contains(got, "file:/t/new flags: 0x10 -> 0x0") {
			t.Errorf("%s", got)
		}
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (w *world) listApplied(list string) {
	w.t.Helper()
	_, err := w.x.Apply(context.Background(), request(w.t, list), nil, executor.Options{}, nil)
	w.must(err)
}
