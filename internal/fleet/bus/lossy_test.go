package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// One answer of the store is lost, after the store has executed the request. The request is
// repeated, the store executes it once, and the caller gets the result soon.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, hubs := range []int{1, 3} {
		t.Run(fmt.Sprint(hubs, " hubs"), func(t *testing.T) {
			t.Parallel()
			lostAnswers(t, startHubs(t, hubs))
		})
	}
}

func lostAnswers(t *testing.T, s *bus.Server) {
	ctx := t.Context()
	st, err := s.Store(ctx, "lossy")
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Log(ctx, bus.LogConfig{Name: "lossy"})
	if err != nil {
		t.Fatal(err)
	}
	lose := func(n int) { bus.LoseAnswers(st, n); bus.LoseAnswersOfLog(log, n) }
	soon := func(what string, do func() error) {
		t.Helper()
		lose(1)
		began := time.Now()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s after %s", what, time.Since(began).Round(time.Millisecond))
	}
	var rev, newer uint64
	soon("create", func() (err error) { rev, err = st.Update(ctx, "a", []byte("1"), 0); return err })
	soon("update", func() (err error) { newer, err = st.Update(ctx, "a", []byte("2"), rev); return err })
	if newer != rev+1 {
		t.Errorf("revision %d after %d: it was written twice", newer, rev)
	}
	soon("put", func() (err error) { rev, err = st.Put(ctx, "a", []byte("3")); return err })
	if rev != newer+1 {
		t.Errorf("revision %d after %d: it was written twice", rev, newer)
	}
	soon("delete", func() error { return st.Delete(ctx, "a", rev) })
	if _, err := st.Get(ctx, "a"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("it is not deleted: %v", err)
	}
	soon("create again", func() (err error) { rev, err = st.Update(ctx, "a", []byte("4"), 0); return err })
	var first, second uint64
	soon("append", func() (err error) { first, err = log.Append(ctx, [][]byte{[]byte("x")}); return err })
	soon("append again", func() (err error) { second, err = log.Append(ctx, [][]byte{[]byte("x")}); return err })
	if second != first+1 {
		t.Errorf("%d after %d: it was appended twice", second, first)
	}

	// Another write is first, also if an answer is lost.
	lose(1)
	if _, err := st.Update(ctx, "a", []byte("5"), rev-1); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("an older revision is written over: %v", err)
	}
	// Without any answer the error is not a conflict, and callers do not wait for long.
	lose(1000)
	began := time.Now()
	if _, err := st.Update(ctx, "a", []byte("6"), rev); err != nil && !errors.Is(err, fleet.ErrNoAnswer) ||
		errors.Is(err, fleet.ErrConflict) {
		t.Errorf("without an answer: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// startHubs starts n hubs, and returns the bus of one of them.
func startHubs(t *testing.T, n int) *bus.Server {
	a := newAuthority(t)
	if n == 1 {
		return a.listen(t)
	}
	all := make([]*bus.Server, n)
	var g errgroup.Group
	for i, s := range a.seats(t, n) {
		g.Go(func() (err error) { all[i], err = s.start(); return err })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Cleanup(s.Close)
	}
	return all[0]
}
