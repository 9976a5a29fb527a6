package journal_test

import (
	"errors"
	"io/fs"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func TestState(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	if st := must(s.State())(t); st.Run != 0 || len(s.Notes()) != 0 {
		t.Fatalf("%+v %v", st, s.Notes())
	}
	finish(t, s, 1, 0, 1)
	finish(t, s, 2, 1, 1)
	want := journal.State{Format: 1, Run: 2, Complete: true, Entries: []journal.Entry{{Addr: addr.File("/a\xff"), Step: `COPY x "/a\xff"`, Run: 2, First: 1}}}
	check(t, s.SaveState(want))
	if got := must(s.State())(t); !reflect.DeepEqual(got, want) || len(s.Notes()) != 0 {
		t.Fatalf("%+v %v", got, s.Notes())
	}
	if got := must(s.StateAt(1))(t); got.Run != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := s.StateAt(7); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestStateAfterDamage(t *testing.T) {
	const pointer, two = "/current", "/state/000002.json"
	cases := []struct {
		name string
		do   func(t *testing.T, fsys *mem.FS)
		run  int
		note bool
	}{
		{"pointer lost", func(t *testing.T, f *mem.FS) { check(t, f.Remove(pointer)) }, 2, false},
		{"pointer damaged", func(t *testing.T, f *mem.FS) { flip(t, f, pointer, 5) }, 2, true},
		{"pointer late", func(t *testing.T, f *mem.FS) { check(t, open(t, f).SaveState(journal.State{Run: 1})) }, 2, false},
		{"state damaged", func(t *testing.T, f *mem.FS) { flip(t, f, two, 9) }, 1, true},
		{"state cut", func(t *testing.T, f *mem.FS) { overwrite(t, f, two, nil) }, 1, true},
		{"state lost", func(t *testing.T, f *mem.FS) { check(t, f.Remove(two)) }, 1, true},
		{"state of another", func(t *testing.T, f *mem.FS) { overwrite(t, f, two, content(t, f, "/state/000001.json")) }, 1, true},
		{"journal lost", func(t *testing.T, f *mem.FS) { check(t, f.Remove("/journal/000002.wal")) }, 2, false},
		{"saved before the end", func(t *testing.T, f *mem.FS) {
			s := open(t, f)
			must(s.Begin(header(3, 2)))(t)
			check(t, s.SaveState(journal.State{Run: 3}))
		}, 2, false},
		{"undone run", func(t *testing.T, f *mem.FS) {
			s := open(t, f)
			j := must(s.Begin(header(3, 2)))(t)
			check(t, j.Append(journal.Record{Kind: journal.Undone, Outcome: journal.RolledBack}))
			check(t, j.Sync())
		}, 2, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fsys := mem.NewFS(mem.Options{})
			s := open(t, fsys)
			finish(t, s, 1, 0, 1)
			finish(t, s, 2, 1, 1)
			c.do(t, fsys)
			st := must(s.State())(t)
			if st.Run != c.run || (len(s.Notes()) > 0) != c.note {
				t.Errorf("run %d, notes %q; want run %d, notes %v", st.Run, s.Notes(), c.run, c.note)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	check(t, s.Unfreeze())
	check(t, s.Disarm())
	check(t, s.Freeze(journal.Frozen{By: "ann", Why: "the fair"}))
	check(t, s.Arm(journal.Arming{Run: 4, Deadline: 99}))
	s = open(t, fsys)
	if f := must(s.Frozen())(t); f == nil || *f != (journal.Frozen{By: "ann", Why: "the fair", At: fixedNow().UnixNano()}) {
		t.Errorf("%+v", f)
	}
	if a := must(s.ArmedRun())(t); a == nil || *a != (journal.Arming{Run: 4, Deadline: 99}) {
		t.Errorf("%+v", a)
	}
	flip(t, fsys, "/frozen", 3)
	if _, err := s.Frozen(); err == nil {
		t.Error("a damaged freeze thaws the host")
	}
	check(t, s.Unfreeze())
	check(t, s.Disarm())
	if f, a := must(s.Frozen())(t), must(s.ArmedRun())(t); f != nil || a != nil {
		t.Error(f, a)
	}
}
