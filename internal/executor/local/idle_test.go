package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/lookcache"
)

// openAs is open for a build that remembers looks. Its clock is late, so that
// nothing is racy; the fake's own clock never gives one time twice.
func (w *world) openAs(program string) *local.Executor {
	w.t.Helper()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	x, err := local.New(w.h, w.state, local.Options{Now: later, Ballast: -1, Program: program})
	w.must(err)
	return x
}

// unloaded is r with its list still to be loaded.
func unloaded(r executor.Request, load func()) executor.Request {
	whole := r
	r.ListDigest, r.List, r.Blobs = r.Digest(), nil, nil
	r.Load = func() (executor.Loaded, error) {
		load()
		return executor.Loaded{List: whole.List, Blobs: whole.Blobs}, whole.Fill()
	}
	return r
}

// meddle changes something that the list may or may not be about.
func (w *world) meddle(d dice) string {
	p := []string{"/t/a", "/t/b", "/t/d/a", "/t/d/x", "/t/l", "/t/gone", "/t/q/x", "/t/d", "/t", "/etc/passwd", "/t/e",
		"/t/m"}[d.n("path", 12)]
	switch d.n("what", 9) {
	case 0:
		if st, err := w.aside.Lstat(p); err != nil || st.Type != "dir" {
			w.write(p, contents[d.n("content", len(contents))])
		}
	case 1:
		if n, err := w.aside.OpenNode(p); err == nil {
			_ = n.Chmod([]uint32{0o644, 0o755, 0o600}[d.n("mode", 3)])
			w.must(n.Close())
		}
	case 2:
		if n, err := w.aside.OpenNode(p); err == nil {
			w.must(n.SetTimes(1, 1))
			w.must(n.Chown(owners[d.n("uid", len(owners))], 0))
			w.must(n.Close())
		}
	case 3:
		if p != "/etc/passwd" {
			_ = w.aside.Remove(p)
		}
	case 4:
		if f, err := w.aside.OpenWrite(p); err == nil { // in place, as many bytes, times forged
			st, err := f.Stat()
			w.must(err)
			_, err = f.Write([]byte(strings.Repeat("z", int(st.Size))))
			w.must(err)
			w.must(f.SetTimes(st.ATime, st.MTime))
			w.must(f.Close())
		}
	case 5:
		_ = w.aside.Symlink("/t/a", p)
	case 6:
		w.must(w.h.Accounts().SetMember(context.Background(), "ann", "web", d.oneIn("in", 2)))
		return "member"
	case 7:
		pk, err := w.h.Packages()
		w.must(err)
		_, err = pk.Change(context.Background(), []host.PackageChange{{Name: "p1",
			Version: []string{"", "1", "2"}[d.n("version", 3)]}}, func(host.Progress) {})
		w.must(err)
		return "package"
	}
	return p
}

// TestRememberedLook: whatever happens to the machine between two looks, one
// that may remember the first gives the plan of one that may not.
func TestRememberedLook(t *testing.T) {
	const list = `MKDIR /t
COPY 0 /t/a
COPY 1 /t/b owner=www
MKDIR /t/d
COPY 2 /t/d/a mode=0600
LINK a /t/l
RM /t/gone
MKDIR /t/q purge=true
COPY 0 /t/q/x
EDIT /t/e line=hello create=true
META /t/m group=www
USER ann shell=/bin/sh
GROUP web
MEMBER ann web
PKG p1
`
	remembered := 0
	rapid.Check(t, func(rt *rapid.T) {
		w, d := newWorld(rt), dice{rt}
		w.mkdirs("/t")
		w.write("/t/m", "m")
		if _, ok := w.applyLawfully(list); !ok {
			rt.Fatal("the list was not put in place")
		}
		r := request(rt, list)
		for range 1 + d.n("looks", 4) {
			fast, ferr := w.openAs("one").Plan(context.Background(), r)
			slow, serr := w.openAs("").Plan(context.Background(), r)
			if fmt.Sprint(ferr) != fmt.Sprint(serr) {
				rt.Fatalf("with memory %v, without %v", ferr, serr)
			}
			if serr == nil && fast.Digest() != slow.Digest() {
				rt.Fatalf("with memory %v, without %v", actions(fast), actions(slow))
			}
			if lookcache.Load(w.state) != nil {
				remembered++
			}
			for range d.n("meddled", 3) {
				rt.Logf("meddled with %s", w.meddle(d))
			}
		}
	})
	if remembered == 0 {
		t.Error("no look was ever remembered, so nothing was tried")
	}
}

// TestIdleIsOneLstatAPath: what was found idle is not opened, and its list is
// not loaded.
func TestIdleIsOneLstatAPath(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	list := "COPY 0 /t/a\nCOPY 1 /t/b\nLINK a /t/l\n"
	if _, ok := w.applyLawfully(list); !ok {
		t.Fatal("the list was not put in place")
	}
	r := request(t, list)
	if _, err := w.openAs("one").Plan(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if lookcache.Load(w.state) == nil {
		t.Fatal("the look was not remembered")
	}
	r = unloaded(r, func() { t.Error("the list was loaded") })
	p, err := w.openAs("one").Plan(context.Background(), r)
	if err != nil || len(p.Changes) != 0 || p.Unchanged != 3 {
		t.Fatal(err, p)
	}
	other := false
	if _, err := w.openAs("two").Plan(context.Background(),
		unloaded(request(t, list), func() { other = true })); err == nil && !other {
		t.Error("another build believed the memory")
	}
}

// TestUnaskedApplyHasItsList: what was loaded to plan is there to be applied,
// and is loaded once.
func TestUnaskedApplyHasItsList(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	if _, ok := w.applyLawfully("COPY 0 /t/a\n"); !ok {
		t.Fatal("the list was not put in place")
	}
	loads := 0
	x, r := w.openAs("one"), unloaded(request(t, "COPY 1 /t/a\nCOPY 2 /t/b\n"), func() { loads++ })
	p, err := x.Plan(context.Background(), r)
	w.must(err)
	rep, err := x.Apply(context.Background(), r, p, executor.Options{Unasked: true}, nil)
	if err != nil || rep.Changed != 2 || loads != 1 {
		t.Fatalf("%v, %d loads: %+v", err, loads, rep)
	}
	l, err := x.List(context.Background(), rep.Run)
	if err != nil || len(l) != 2 {
		t.Fatal(err, l)
	}
}

// TestIdleApplyLooksOnce: between plan and apply nothing is looked at again
// while nobody has run anything, and everything is once somebody has.
func TestIdleApplyLooksOnce(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	if _, ok := w.applyLawfully("COPY 0 /t/a\n"); !ok {
		t.Fatal("the list was not put in place")
	}
	x, r := w.openAs("one"), request(t, "COPY 0 /t/a\n")
	p, err := x.Plan(context.Background(), r)
	w.must(err)
	rep, err := x.Apply(context.Background(), r, p, executor.Options{}, nil)
	if err != nil || rep.Run != 0 || rep.Outcome != journal.Succeeded {
		t.Fatal(err, rep)
	}
	if _, ok := w.applyLawfully("COPY 1 /t/a\n"); !ok {
		t.Fatal("the other list was not put in place")
	}
	if _, err = x.Apply(context.Background(), r, p, executor.Options{}, nil); err == nil {
		t.Error("a plan was taken for true after another run")
	}
}
