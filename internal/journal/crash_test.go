package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// acked is the data that the store has promised to be durable so far.
type acked struct {
	records map[int]int // by run
	objects []string
	state   int
	frozen  bool
}

// script runs two complete runs, and a third run that stays open.
func script(s *journal.Store, a *acked) error {
	for run := 1; run <= 3; run++ {
		for i := range 3 * run * run { // few and many: both ways to sync
			_, err := s.PutBytes(fmt.Appendf(nil, "object %d of run %d", i, run))
			if err != nil {
				return err
			}
		}
		if err := s.SyncObjects(); err != nil {
			return err
		}
		for i := range 3 * run * run {
			a.objects = append(a.objects, journal.DigestOf(fmt.Appendf(nil, "object %d of run %d", i, run)))
		}
		j, err := s.Begin(header(run, run-1))
		if err != nil {
			return err
		}
		a.records[run] = 1
		for batch := range 3 {
			if err := j.Append(move(batch), move(batch+10)); err != nil {
				return err
			}
			if err := j.Sync(); err != nil {
				return err
			}
			a.records[run] += 2
		}
		if run == 3 {
			return j.Append(move(99))
		}
		if err := end(j, journal.State{Format: 1, Run: run}, journal.Commit); err != nil {
			return err
		}
		a.records[run] += 2
		a.state = run
		if err := errors.Join(j.Close(), s.Freeze(journal.Frozen{By: "me"})); err != nil {
			return err
		}
		a.frozen = true
		if _, err := s.Collect(journal.Retention{}); err != nil {
			return err
		}
	}
	return nil
}

func TestPowerCutAfterEveryOperation(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	points := 0
	a := acked{records: map[int]int{}}
	view := fsys.Counted(func(op, path string) error {
		points++
		for seed := range uint64(6) {
			afterCut(t, fsys.CrashClone(rand.New(rand.NewPCG(seed, uint64(points)))), a,
				fmt.Sprintf("point %d (%s %s), seed %d", points, op, path, seed))
		}
		return nil
	})
	s, err := journal.OpenWith(view, journal.Options{Now: fixedNow})
	check(t, err)
	check(t, script(s, &a))
	if points < 150 {
		t.Errorf("only %d points: the counter was not called", points)
	}
}

// afterCut checks every promise after a power cut, twice, because the power can also be cut during
// recovery.
func afterCut(t *testing.T, fsys *mem.FS, a acked, at string) {
	t.Helper()
	s, err := journal.OpenWith(fsys, journal.Options{Now: fixedNow})
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	for run, n := range a.records {
		recs, err := s.Read(run)
		if err != nil || len(recs) < n {
			t.Fatalf("%s: %d of %d durable records of run %d: %v", at, len(recs), n, run, err)
		}
	}
	for _, digest := range a.objects {
		if err := s.Verify(digest); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
	}
	if st, err := s.State(); err != nil || st.Run < a.state || st.Run > a.state+1 {
		t.Fatalf("%s: state of run %d, durable was %d: %v", at, st.Run, a.state, err)
	}
	if f, err := s.Frozen(); err != nil || (f == nil && a.frozen) {
		t.Fatalf("%s: the freeze is lost: %v", at, err)
	}
	run, ok, err := s.Unfinished()
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if !ok {
		return
	}
	j, recs, err := s.Resume(run)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	defer j.Close()
	if err := errors.Join(j.Append(journal.Record{Kind: journal.Undone, Outcome: journal.Interrupted}),
		j.Sync()); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	again, err := journal.OpenWith(fsys.CrashClone(rand.New(rand.NewPCG(9, 9))), journal.Options{})
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if got, err := again.Read(run); err != nil || len(got) != len(recs)+1 {
		t.Fatalf("%s: after recovery %d records, want %d: %v", at, len(got), len(recs)+1, err)
	}
}

// TestUnsyncedIsLost shows that the power cut above takes something away.
func TestUnsyncedIsLost(t *testing.T) {
	lost := 0
	for seed := range uint64(50) {
		fsys := mem.NewFS(mem.Options{})
		s := open(t, fsys)
		digest := must(s.PutBytes([]byte("never synced")))(t)
		after := open(t, fsys.CrashClone(rand.New(rand.NewPCG(seed, 1))))
		if after.Verify(digest) != nil {
			lost++
			// The remaining file of that name is not accepted as the content.
			must(after.PutBytes([]byte("never synced")))(t)
			check(t, after.Verify(digest))
		}
	}
	if lost < 10 {
		t.Errorf("only %d of 50 cuts lost the object", lost)
	}
}

// TestErrorAtEveryOperation: an operation that fails is never taken for done.
func TestErrorAtEveryOperation(t *testing.T) {
	for n := 1; ; n++ {
		fsys := mem.NewFS(mem.Options{})
		count, hit := 0, false
		a := acked{records: map[int]int{}}
		s, err := journal.OpenWith(fsys.Counted(func(op, path string) error {
			if count++; count == n {
				hit = true
				return errors.New("planned failure")
			}
			return nil
		}), journal.Options{Now: fixedNow})
		if err == nil {
			err = script(s, &a)
		}
		if !hit {
			if n < 100 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
		if err == nil {
			t.Fatalf("operation %d failed and nobody was told", n)
		}
		afterCut(t, fsys.CrashClone(rand.New(rand.NewPCG(uint64(n), 1))), a, fmt.Sprintf("failure at %d", n))
	}
}
