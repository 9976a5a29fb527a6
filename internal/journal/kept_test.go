package journal_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// states are the numbers of the state files that are there.
func (h *history) states() []string {
	names := must(h.fsys.ReadDir("/state"))(h.t)
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".json") })
}

// opened begins a rollback that does not end.
func (h *history) opened(to int) {
	s := h.store()
	hd := header(must(s.NextRun())(h.t), h.base)
	hd.Operation, hd.To = journal.OpRollback, to
	hd.List, hd.Plan = h.put(s, ""), h.put(s, map[string]any{})
	check(h.t, s.SyncObjects())
	j := must(s.Begin(hd))(h.t)
	check(h.t, errors.Join(j.Sync(), j.Close()))
}

// TestCollectKeepsTheGoal: the target state of an unfinished rollback remains; the target state of
// a finished rollback does not.
func TestCollectKeepsTheGoal(t *testing.T) {
	for _, to := range []int{0, 1, 2} {
		h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
		for range 5 {
			h.run(journal.Commit, 1)
		}
		h.opened(to)
		must(h.store().Collect(journal.Retention{Runs: 1}))(t)
		want := "[000004.json 000005.json]" // its initial state, and the state of that run
		if to > 0 {
			want = fmt.Sprintf("[%06d.json 000004.json 000005.json]", to)
		}
		if got := fmt.Sprint(h.states()); got != want {
			t.Errorf("on its way to run %d the states %s are left, want %s", to, got, want)
		}
		if _, err := h.store().StateAt(to); to > 0 && err != nil {
			t.Errorf("the goal: %v", err)
		}
	}
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	for range 5 {
		h.run(journal.Commit, 1)
	}
	must(h.store().Collect(journal.Retention{Runs: 1}))(t)
	if got := fmt.Sprint(h.states()); got != "[000004.json 000005.json]" {
		t.Errorf("the states %s are left", got)
	}
}

// TestCollectByAge: the age of a run counts from its end. A run exactly at the limit is removed.
func TestCollectByAge(t *testing.T) {
	for _, c := range []struct {
		within time.Duration
		want   string
	}{{0, "[1 2 3]"}, {time.Hour, "[1 2 3]"}, {time.Hour + 1, "[1 2]"}, {2*time.Hour + 1, "[1]"}, {1, "[1 2 3]"},
		{time.Second, "[1 2 3]"}} {
		h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
		for range 4 {
			h.run(journal.Commit, 1)
			h.now = h.now.Add(time.Hour)
		}
		h.now = h.now.Add(-time.Hour) // the last has just ended
		if got := fmt.Sprint(must(h.store().Collect(journal.Retention{Runs: 1, Within: c.within}))(t).Runs); got != c.want {
			t.Errorf("within %s %s go, want %s", c.within, got, c.want)
		}
	}
	// After the clock was set back, no run counts as young.
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	for range 3 {
		h.run(journal.Commit, 1)
	}
	h.now = h.now.Add(-24 * time.Hour)
	if got := fmt.Sprint(must(h.store().Collect(journal.Retention{Runs: 1}))(t).Runs); got != "[1 2]" {
		t.Errorf("%s go", got)
	}
}

// TestCollectKeepsTheNumber: an empty collection is not an error, and a run that never began still
// has its number.
func TestCollectKeepsTheNumber(t *testing.T) {
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	if c := must(h.store().Collect(journal.Retention{Runs: 1}))(t); len(c.Runs) > 0 {
		t.Errorf("an empty store lost %v", c.Runs)
	}
	overwrite(t, h.fsys, "/journal/000007.wal", nil)
	before := must(h.store().NextRun())(t)
	must(h.store().Collect(journal.Retention{Runs: 1}))(t)
	if after := must(h.store().NextRun())(t); after != before {
		t.Errorf("the next run was %d and is %d", before, after)
	}
}

// TestCollectStopsAtAnIndex: an index that cannot be removed keeps its pack, as
// an index of nothing would be believed.
func TestCollectStopsAtAnIndex(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	fill(t, s, 0, 100)
	broken := errors.New("broken")
	s = open(t, fsys.Counted(func(op, p string) error {
		if op == host.OpRemove && strings.HasSuffix(p, ".idx") {
			return broken
		}
		return nil
	}))
	if _, err := s.Collect(journal.Retention{Runs: 1}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if _, err := fsys.Lstat("/packs/000001.pack"); err != nil {
		t.Errorf("the pack is gone: %v", err)
	}
}

// TestCollectedIsPutAgain: after a collection, the Store immediately treats removed content as
// missing and writes it again. Retained content is still known.
func TestCollectedIsPutAgain(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	dead := fill(t, open(t, fsys), 0, 20)
	live := fill(t, open(t, fsys), 20, 40)
	s := open(t, fsys)
	j := must(s.Begin(journal.Header{Format: 1, Run: 1, Operation: journal.OpApply, List: live[0], Plan: live[1]}))(t)
	check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Join(live, " ")},
		journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}))
	check(t, errors.Join(j.Sync(), j.Close(), s.SaveState(journal.State{Format: 1, Run: 1, List: live[0]})))
	s = open(t, fsys)
	if c := must(s.Collect(journal.Retention{Runs: 5}))(t); c.Objects != len(dead) {
		t.Fatalf("collected %+v", c)
	}
	readable(t, s, live, 20)
	for _, d := range dead {
		if s.Has(d) {
			t.Fatal("what was collected passes for being there")
		}
	}
	fill(t, s, 0, 20)
	readable(t, open(t, fsys), dead, 0)
	readable(t, open(t, fsys), live, 20)
}

// TestMarshalTellsErrors: values that JSON cannot represent are an error, also together with names
// that are not UTF-8.
func TestMarshalTellsErrors(t *testing.T) {
	for _, v := range []any{math.NaN(), map[string]any{"\xff": math.Inf(1)}, func() {}} {
		if b, err := journal.Marshal(v); err == nil {
			t.Errorf("%T is written as %s", v, b)
		}
	}
}

// TestSettingsTellFaults: a mark that cannot be made or removed says so, and
// leaves no half of itself.
func TestSettingsTellFaults(t *testing.T) {
	for _, op := range []string{host.OpWrite, host.OpSync, host.OpRename, host.OpRemove} {
		fsys, broken := mem.NewFS(mem.Options{}), errors.New("broken")
		check(t, open(t, fsys).Freeze(journal.Frozen{By: "me"}))
		s := open(t, fsys.Counted(func(o, p string) error {
			if o == op && (op != host.OpRemove || !strings.HasSuffix(p, ".tmp")) {
				return broken
			}
			return nil
		}))
		if op == host.OpRemove {
			if err := s.Unfreeze(); !errors.Is(err, broken) {
				t.Errorf("it is thawed: %v", err)
			}
			continue
		}
		if err := s.Freeze(journal.Frozen{By: "you"}); !errors.Is(err, broken) {
			t.Errorf("%s fails: %v", op, err)
		}
		if _, err := fsys.Lstat("/frozen.tmp"); err == nil {
			t.Errorf("%s fails and leaves its temporary", op)
		}
	}
}

// TestCollectKeepsFifty: without a number the last fifty runs stay.
func TestCollectKeepsFifty(t *testing.T) {
	s := open(t, mem.NewFS(mem.Options{}))
	for run := 1; run <= 52; run++ {
		finish(t, s, run, run-1, 0)
	}
	if got := fmt.Sprint(must(s.Collect(journal.Retention{}))(t).Runs); got != "[1 2]" {
		t.Errorf("of 52 runs %s go, want the first two", got)
	}
}

// TestCollectRefusesWhatIsTooLarge: a list that is too large to search can refer to any object, so
// nothing is removed.
func TestCollectRefusesWhatIsTooLarge(t *testing.T) {
	h := &history{t: t, fsys: mem.NewFS(mem.Options{}), now: fixedNow()}
	h.run(journal.Commit, 1)
	h.run(journal.Commit, 1)
	list := must(h.store().Runs())(t)[1].Header.List
	for size, refused := range map[int64]bool{1 << 30: false, 1<<30 + 1: true} {
		s := open(t, &claims{FS: h.fsys, path: objectFile(list), size: size})
		c, err := s.Collect(journal.Retention{Runs: 1, DryRun: true})
		if refused != (err != nil) || refused && (len(c.Runs) > 0 ||
			!strings.Contains(err.Error(), "too large to be searched: 1073741825 bytes")) {
			t.Errorf("a list of %d bytes: %+v, %v", size, c, err)
		}
	}
}

// claims is a file system of which one file says that it has another size.
type claims struct {
	*mem.FS
	path string
	size int64
}

func (c *claims) Open(path string) (host.File, error) {
	f, err := c.FS.Open(path)
	if err != nil || path != c.path {
		return f, err
	}
	return claimed{f, c.size}, nil
}

type claimed struct {
	host.File
	size int64
}

func (c claimed) Stat() (host.Stat, error) {
	st, err := c.File.Stat()
	st.Size = c.size
	return st, err
}

// TestOnlyRunsAreRuns: other files beside the journals are ignored and remain.
func TestOnlyRunsAreRuns(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	finish(t, s, 1, 0, 1)
	others := []string{"000009", "9.wal", "0000009.wal", "000009.wal.tmp", "000000.wal", "-00009.wal", "+00009.wal",
		"00009a.wal", "000009.WAL", ".wal"}
	for _, name := range others {
		overwrite(t, fsys, "/journal/"+name, content(t, fsys, "/journal/000001.wal"))
	}
	finish(t, s, 2, 1, 1)
	if infos := must(s.Runs())(t); len(infos) != 2 || infos[1].Header.Run != 2 {
		t.Errorf("%+v", infos)
	}
	if next := must(s.NextRun())(t); next != 3 {
		t.Errorf("the next run is %d", next)
	}
	must(s.Collect(journal.Retention{Runs: 1}))(t)
	if names := must(fsys.ReadDir("/journal"))(t); len(names) != len(others)+1 {
		t.Errorf("%v are left", names)
	}
}
