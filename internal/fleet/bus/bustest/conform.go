package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Bus is the implementation under test.
type Bus struct {
	Store    func(name string) fleet.Store
	Log      func(name string) fleet.Log
	Exchange fleet.Exchange
	// Link returns a link. The caller closes it.
	Link func(ctx context.Context, id fleet.TargetID) fleet.Link
}

// limit is how long a test of the suite waits for an event.
const limit = 30 * time.Second

// ID returns the identity of a target for a number, for tests.
func ID(n int) fleet.TargetID {
	id, err := fleet.NewTargetID(numbered(n))
	if err != nil {
		panic(err) // numbered always returns enough bytes
	}
	return id
}

type numbered int

func (n numbered) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(int(n) >> (8 * (i % 8)))
	}
	return len(p), nil
}

// Await waits until a condition holds, and fails the test if it does not.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// Conform runs the suite. It calls start once for each part.
func Conform(t *testing.T, start func(t *testing.T) Bus) {
	parts := []struct {
		name string
		run  func(t *testing.T, ctx context.Context, b Bus)
	}{
		{"store", conformStore}, {"keys", conformKeys}, {"absent", conformAbsent}, {"race", conformRace},
		{"together", conformTogether}, {"watch", conformWatch},
		{"log", conformLog}, {"follow", conformFollow},
		{"ask", conformAsk}, {"errors", conformErrors}, {"down", conformDown}, {"presence", conformPresence},
		{"kick", conformKick}, {"flood", conformFlood},
		{"stream", conformStream}, {"window", conformWindow}, {"streams end", conformStreamsEnd},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
			defer cancel()
			p.run(t, ctx, start(t))
		})
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func conformStore(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	_, err := s.Get(ctx, "a")
	wantErr(t, "a missing key", err, fleet.ErrNotFound)
	one := must[uint64](t)(s.Update(ctx, "a", []byte("1"), 0))
	_, err = s.Update(ctx, "a", []byte("x"), 0)
	wantErr(t, "an existing key", err, fleet.ErrConflict)
	two := must[uint64](t)(s.Put(ctx, "a", []byte("2")))
	if two <= one {
		t.Errorf("revision %d after %d", two, one)
	}
	_, err = s.Update(ctx, "a", []byte("x"), one)
	wantErr(t, "an old revision", err, fleet.ErrConflict)
	three := must[uint64](t)(s.Update(ctx, "a", []byte("3"), two))
	if e := must[fleet.Entry](t)(s.Get(ctx, "a")); string(e.Value) != "3" || e.Rev != three || e.Key != "a" || e.Gone {
		t.Errorf("read %+v", e)
	}
	wantErr(t, "a deletion of an old revision", s.Delete(ctx, "a", two), fleet.ErrConflict)
	if err := s.Delete(ctx, "a", three); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(ctx, "a")
	wantErr(t, "a deleted key", err, fleet.ErrNotFound)
	_, err = s.Update(ctx, "a", []byte("x"), three)
	wantErr(t, "the revision of a deleted key", err, fleet.ErrConflict)
	if again := must[uint64](t)(s.Update(ctx, "a", []byte("4"), 0)); again <= three {
		t.Errorf("revision %d after %d", again, three)
	}
	must[uint64](t)(s.Put(ctx, "b", nil))
	if err := errors.Join(s.Delete(ctx, "c", 0), s.Delete(ctx, "a", 0)); err != nil {
		t.Error(err)
	}
	if all := must[[]fleet.Entry](t)(s.All(ctx)); len(all) != 1 || all[0].Key != "b" || len(all[0].Value) != 0 {
		t.Errorf("all is %+v", all)
	}
	if all := must[[]fleet.Entry](t)(b.Store("others").All(ctx)); len(all) != 0 {
		t.Errorf("another bucket has %+v", all)
	}
}

// conformAbsent proves the absence of a key several times, and creates the key afterwards.
func conformAbsent(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	p, ok := s.(fleet.Prover)
	if !ok {
		t.Fatal("the store is not a fleet.Prover")
	}
	for range 2 {
		if err := p.Absent(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	rev := must[uint64](t)(s.Update(ctx, "a", []byte("1"), 0))
	wantErr(t, "the absence of an existing key", p.Absent(ctx, "a"), fleet.ErrConflict)
	if e := must[fleet.Entry](t)(s.Get(ctx, "a")); string(e.Value) != "1" || e.Rev != rev {
		t.Errorf("read %+v", e)
	}
	if err := errors.Join(s.Delete(ctx, "a", rev), p.Absent(ctx, "a")); err != nil {
		t.Error(err)
	}
	if p.Absent(ctx, "a b") == nil {
		t.Error("an invalid key is accepted")
	}
}

func conformKeys(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	for _, key := range []string{"", ".", "a..b", ".a", "a.", "a b", "*", ">", "a.*", "$JS", "ä", "a\x00"} {
		if _, err := s.Put(ctx, key, nil); err == nil {
			t.Errorf("wrote the key %q", key)
		}
		if _, err := s.Get(ctx, key); err == nil || errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("asked for the key %q: %v", key, err)
		}
	}
	for _, key := range []string{"a", "a.b/c-d_e=f.0", string(ID(7))} {
		must[uint64](t)(s.Put(ctx, key, []byte(key)))
		if e := must[fleet.Entry](t)(s.Get(ctx, key)); string(e.Value) != key {
			t.Errorf("under %q is %q", key, e.Value)
		}
	}
	must[uint64](t)(s.Put(ctx, "large", make([]byte, 1<<20)))
	if _, err := s.Put(ctx, "larger", make([]byte, 1<<20+1)); err == nil {
		t.Error("wrote more than a value may have")
	}
}

// conformRace: of several writers at the same revision, exactly one succeeds.
func conformRace(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	const writers, rounds = 8, 10
	for round := range rounds {
		key := fmt.Sprintf("k%d", round)
		errs := make(chan error, writers)
		for i := range writers {
			go func() {
				_, err := s.Update(ctx, key, fmt.Append(nil, i), 0)
				errs <- err
			}()
		}
		won := 0
		for range writers {
			if err := <-errs; err == nil {
				won++
			} else {
				wantErr(t, "a race that is lost", err, fleet.ErrConflict)
			}
		}
		if won != 1 {
			t.Fatalf("%d writers won", won)
		}
	}
}

func conformWatch(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	must[uint64](t)(s.Put(ctx, "old", []byte("1")))
	must[uint64](t)(s.Put(ctx, "gone", []byte("1")))
	if err := s.Delete(ctx, "gone", 0); err != nil {
		t.Fatal(err)
	}
	watching, stop := context.WithCancel(ctx)
	seen, ended := make(chan string, 1000), make(chan error, 1)
	var present atomic.Bool
	go func() {
		ended <- s.Watch(watching, func(e fleet.Entry) {
			if e.Key == "gone" { // a slow server can show the key, and then its deletion
				present.Store(!e.Gone)
				return
			}
			seen <- fmt.Sprintf("%s=%s %v", e.Key, e.Value, e.Gone)
		}, func() { seen <- "ready" })
	}()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("saw %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("did not see %q", want)
		}
	}
	next("old=1 false")
	next("ready")
	for i := range 300 {
		must[uint64](t)(s.Put(ctx, fmt.Sprintf("k%d", i%3), fmt.Append(nil, i)))
		next(fmt.Sprintf("k%d=%d false", i%3, i))
	}
	if err := s.Delete(ctx, "old", 0); err != nil {
		t.Fatal(err)
	}
	next("old= true")
	if present.Load() {
		t.Error("a key that was deleted is still shown")
	}
	stop()
	wantErr(t, "the end of a watch", <-ended, context.Canceled)
}

func conformLog(t *testing.T, ctx context.Context, b Bus) {
	l := b.Log("events")
	first := must[uint64](t)(l.Append(ctx, [][]byte{[]byte("a"), {}, []byte("c")}))
	second := must[uint64](t)(l.Append(ctx, [][]byte{slices.Repeat([]byte("long "), 20_000)}))
	if second <= first {
		t.Errorf("seq %d after %d", second, first)
	}
	var got []string
	end := errors.New("enough")
	err := l.Follow(ctx, 0, func(seq uint64, records [][]byte) error {
		got = append(got, fmt.Sprintf("%d: %d records, %d bytes", seq, len(records), len(slices.Concat(records...))))
		if seq == second {
			return end
		}
		return nil
	})
	wantErr(t, "the end of following", err, end)
	want := []string{fmt.Sprintf("%d: 3 records, 2 bytes", first), fmt.Sprintf("%d: 1 records, 100000 bytes", second)}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// conformFollow: several followers that start at different positions see the same records during
// writes.
func conformFollow(t *testing.T, ctx context.Context, b Bus) {
	l := b.Log("events")
	const total = 300
	done := make(chan error, 3)
	for from := range uint64(3) {
		go func() {
			next := from
			done <- l.Follow(ctx, from, func(seq uint64, records [][]byte) error {
				if next++; seq != next || string(records[0]) != fmt.Sprint(seq) {
					return fmt.Errorf("saw seq %d with %q, want %d", seq, records, next)
				}
				if seq == total {
					return context.Canceled
				}
				return nil
			})
		}()
	}
	for i := range total {
		must[uint64](t)(l.Append(ctx, [][]byte{fmt.Append(nil, i+1)}))
	}
	for range 3 {
		wantErr(t, "following", <-done, context.Canceled)
	}
}
