package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

func TestState(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	if st := must(s.State())(t); st.Run != 0 || len(s.Notes()) != 0 {
		t.Fatalf("%+v %v", st, s.Notes())
	}
	finish(t, s, 1, 0, 1)
	finish(t, s, 2, 1, 1)
	want := journal.State{Format: 1, Run: 2, Complete: true,
		Entries: []journal.Entry{{Addr: addr.File("/a\xff"), Step: must(step.ParseLine(`COPY x "/a\xff"`))(t), Run: 2,
			FirstRun: 1}}}
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

// damage is one thing that happens to the state directory after two runs.
type damage struct {
	name string
	do   func(t *testing.T, fsys *mem.FS)
	run  int // whose state is in force then; -1 for a refusal
	note bool
}

const (
	pointer    = "/current"
	stateTwo   = "/state/000002.json"
	journalTwo = "/journal/000002.wal"
)

func lose(paths ...string) func(t *testing.T, f *mem.FS) {
	return func(t *testing.T, f *mem.FS) {
		for _, p := range paths {
			check(t, f.Remove(p))
		}
	}
}

// halve cuts the second half of a file off.
func halve(t *testing.T, f *mem.FS, path string) {
	t.Helper()
	b := content(t, f, path)
	overwrite(t, f, path, b[:len(b)/2])
}

func TestStateAfterDamage(t *testing.T) {
	late := func(t *testing.T, f *mem.FS) { check(t, open(t, f).SaveState(journal.State{Format: 1, Run: 1})) }
	for _, c := range []damage{
		{"nothing", func(*testing.T, *mem.FS) {}, 2, false},
		{"pointer lost", lose(pointer), 2, true},
		{"pointer damaged", func(t *testing.T, f *mem.FS) { flip(t, f, pointer, 5) }, 2, true},
		{"pointer late", late, 2, false},
		{"state damaged", func(t *testing.T, f *mem.FS) { flip(t, f, stateTwo, 9) }, 2, true},
		{"state cut", func(t *testing.T, f *mem.FS) { overwrite(t, f, stateTwo, nil) }, 2, true},
		{"state lost", lose(stateTwo), 2, true},
		{"all states lost", lose(stateTwo, "/state/000001.json"), 2, true},
		{"all states and the pointer lost", lose(stateTwo, "/state/000001.json", pointer), 2, true},
		{"state of another", func(t *testing.T, f *mem.FS) { overwrite(t, f, stateTwo, content(t, f, "/state/000001.json")) }, 2, true},
		{"journal lost", lose(journalTwo), 2, true},
		{"journal and pointer lost", lose(journalTwo, pointer), 2, true},
		{"journal lost, pointer late", func(t *testing.T, f *mem.FS) { late(t, f); lose(journalTwo)(t, f) }, 2, true},
		{"journal cut", func(t *testing.T, f *mem.FS) { halve(t, f, journalTwo) }, 2, true},
		{"journal empty", func(t *testing.T, f *mem.FS) { overwrite(t, f, journalTwo, nil) }, 2, true},
		{"journal cut, state lost", func(t *testing.T, f *mem.FS) { halve(t, f, journalTwo); lose(stateTwo)(t, f) }, -1, false},
		{"journal empty, state lost", func(t *testing.T, f *mem.FS) { overwrite(t, f, journalTwo, nil); lose(stateTwo)(t, f) }, -1, false},
		{"journal cut, pointer lost, state lost", func(t *testing.T, f *mem.FS) { halve(t, f, journalTwo); lose(stateTwo, pointer)(t, f) }, -1, false},
		{"journal and state lost", lose(journalTwo, stateTwo), -1, false},
		{"all journals and states lost", lose("/journal/000001.wal", "/state/000001.json", journalTwo, stateTwo), -1, false},
		{"all but objects lost", lose("/journal/000001.wal", "/state/000001.json", journalTwo, stateTwo, pointer), -1, false},
		{"format lost", lose("/format"), 2, false},
		{"format and pointer lost", lose("/format", pointer), 2, true},
		{"cut short", func(t *testing.T, f *mem.FS) { must(open(t, f).Begin(header(3, 2)))(t) }, 2, false},
		{"cut short, pointer lost", func(t *testing.T, f *mem.FS) {
			must(open(t, f).Begin(header(3, 2)))(t)
			lose(pointer)(t, f)
		}, -1, false},
		{"state without an end", func(t *testing.T, f *mem.FS) {
			s := open(t, f)
			must(s.Begin(header(3, 2)))(t)
			check(t, s.SaveState(journal.State{Format: 1, Run: 3}))
		}, 3, true},
		{"undone run", func(t *testing.T, f *mem.FS) {
			check(t, end(must(open(t, f).Begin(header(3, 2)))(t), journal.State{Format: 1, Run: 3}, journal.Undone))
		}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := mem.NewFS(mem.Options{})
			s := open(t, fsys)
			must(s.PutBytes([]byte("a list")))(t)
			finish(t, s, 1, 0, 1)
			finish(t, s, 2, 1, 1)
			c.do(t, fsys)
			c.check(t, fsys)
		})
	}
}

func (c damage) check(t *testing.T, fsys *mem.FS) {
	s := open(t, fsys)
	st, err := s.State()
	var lost *journal.LostError
	if c.run < 0 {
		if !errors.As(err, &lost) {
			t.Errorf("run %d, %v; want a refusal", st.Run, err)
		}
		return
	}
	if err != nil || st.Run != c.run || (len(s.Notes()) > 0) != c.note {
		t.Fatalf("run %d, notes %q, %v; want run %d, notes %v", st.Run, s.Notes(), err, c.run, c.note)
	}
	must(s.RepairState())(t)
	if again := must(s.State())(t); !reflect.DeepEqual(again, st) {
		t.Errorf("mended: %+v, was %+v", again, st)
	}
	for _, note := range s.Notes() {
		if !strings.Contains(note, "journal") {
			t.Errorf("mended, and still: %s", note)
		}
	}
}

// TestOldJournalCut: a run has ended if a later run began. A journal in the middle of the history
// without an end is therefore damaged, and its run is not recovered again.
func TestOldJournalCut(t *testing.T) {
	for _, do := range []func(*testing.T, *mem.FS){
		func(t *testing.T, f *mem.FS) { halve(t, f, "/journal/000001.wal") },
		func(t *testing.T, f *mem.FS) { overwrite(t, f, "/journal/000001.wal", nil) },
		func(t *testing.T, f *mem.FS) {
			overwrite(t, f, "/journal/000001.wal", nil)
			lose("/state/000001.json")(t, f)
		},
	} {
		fsys := mem.NewFS(mem.Options{})
		s := open(t, fsys)
		finish(t, s, 1, 0, 1)
		finish(t, s, 2, 1, 1)
		do(t, fsys)
		if run, open, err := s.Unfinished(); open || err != nil {
			t.Errorf("run %d is to be settled: %v", run, err)
		}
		var corrupt *journal.CorruptError
		if _, err := s.Read(1); !errors.As(err, &corrupt) {
			t.Errorf("it is read as if it were whole: %v", err)
		}
	}
}

// TestLargeStateIsRebuilt: a state that is longer than a record.
func TestLargeStateIsRebuilt(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	want := journal.State{Format: 1, Run: 1, Complete: true, Pending: []journal.PendingAct{{Addr: "act:a", Run: 1}}}
	for i := range 90 {
		want.Entries = append(want.Entries, journal.Entry{Addr: addr.File(fmt.Sprint("/", i)),
			Step: must(step.ParseLine("EDIT /x line=" + strings.Repeat("x", 1<<18)))(t), Run: 1, FirstRun: 1})
	}
	check(t, end(must(s.Begin(header(1, 0)))(t), want, journal.Commit))
	lose("/state/000001.json")(t, fsys)
	if got := must(open(t, fsys).State())(t); !reflect.DeepEqual(got, want) {
		t.Errorf("%d entries, complete %v, pending %v", len(got.Entries), got.Complete, got.Pending)
	}
}

// TestOlderVersion: journals of versions that kept the state only in its file.
func TestOlderVersion(t *testing.T) {
	old := func() *mem.FS {
		fsys := mem.NewFS(mem.Options{})
		open(t, fsys)
		for path, from := range map[string]string{"/journal/000001.wal": "old.wal", "/state/000001.json": "old.state", pointer: "golden.current"} {
			overwrite(t, fsys, path, must(os.ReadFile("testdata/"+from))(t))
		}
		return fsys
	}
	fsys := old()
	s := open(t, fsys)
	if st := must(s.State())(t); st.Run != 1 || len(st.Entries) != 1 || len(s.Notes()) != 0 {
		t.Errorf("%+v %v", st, s.Notes())
	}
	lose("/state/000001.json")(t, fsys)
	var lost *journal.LostError
	if st, err := open(t, fsys).State(); !errors.As(err, &lost) {
		t.Errorf("%+v %v", st, err)
	}
	fsys = old() // it saved the state before the end, and crashed in between
	b := content(t, fsys, "/journal/000001.wal")
	overwrite(t, fsys, "/journal/000001.wal", b[:len(b)-5])
	if run, open, err := open(t, fsys).Unfinished(); run != 1 || !open || err != nil {
		t.Errorf("run %d, unfinished %v: %v", run, open, err)
	}
}

// A freeze ends at its end, and not before; a clock that was set back begins it again.
func TestFreezeEnds(t *testing.T) {
	now := fixedNow()
	s := must(journal.OpenWith(mem.NewFS(mem.Options{}), journal.Options{Now: func() time.Time { return now }}))(t)
	end := now.Add(2 * time.Hour)
	check(t, s.Freeze(journal.Frozen{By: "ann", Why: "the fair", Until: end.UnixNano()}))
	for _, c := range []struct {
		at     time.Time
		frozen bool
	}{{now, true}, {end.Add(-1), true}, {end, false}, {end.Add(time.Hour), false}, {now.Add(-24 * time.Hour), true}} {
		now = c.at
		if f := must(s.Frozen())(t); (f != nil) != c.frozen {
			t.Errorf("at %s: %+v", c.at, f)
		}
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
