package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// terms records the leaders with their times and fences.
type terms struct {
	mu    sync.Mutex
	begin time.Time
	list  []string
	now   string
	t     *testing.T
}

func (w *terms) note(text string) {
	w.list = append(w.list, fmt.Sprintf("%s %s", time.Since(w.begin).Truncate(100*time.Millisecond), text))
}

// lead is the work of a leader: it waits until its context ends.
func (w *terms) lead(name string) func(context.Context, uint64) {
	return func(ctx context.Context, fence uint64) {
		w.mu.Lock()
		if w.now != "" {
			w.t.Errorf("%s leads beside %s", name, w.now)
		}
		w.now = name
		w.note(fmt.Sprintf("%s leads with %d", name, fence))
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		w.now = ""
		w.note(name + " does not")
		w.mu.Unlock()
	}
}

// cut is a store that one process cannot reach for a while. Its watches stop too.
type cut struct {
	fleet.Store
	mu   sync.Mutex
	away bool
}

func (c *cut) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *cut) isAway() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}

func (c *cut) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if c.isAway() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return c.Store.Update(ctx, key, value, rev)
}

func (c *cut) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	return c.Store.Watch(ctx, func(e fleet.Entry) {
		for c.isAway() && ctx.Err() == nil {
			time.Sleep(time.Second)
		}
		each(e)
	}, ready)
}

// TestLead: there is one leader. A leader that is cut off stops before another one begins. A leader
// that ends releases the lease at once. A restarted process with the same name does not wait.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.NewStore()
		w := &terms{begin: time.Now(), t: t}
		var all sync.WaitGroup
		begin := func(store fleet.Store, name string) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			all.Go(func() {
				if err := bus.Lead(ctx, store, bus.LeaseConfig{Key: "lead", Holder: name}, w.lead(name)); !errors.Is(err,
					context.Canceled) {
					t.Error(err)
				}
			})
			return cancel
		}
		first := &cut{Store: s}
		stopA := begin(first, "a")
		time.Sleep(time.Second)
		stopB := begin(s, "b")
		time.Sleep(time.Minute)
		first.set(true)
		time.Sleep(time.Minute)
		first.set(false)
		time.Sleep(time.Minute)
		stopB()
		time.Sleep(time.Minute)
		stopA()
		all.Wait()
		// As after kill -9: the claim exists, and its holder is gone.
		if _, err := s.Put(context.Background(), "lead", []byte(`{"holder":"a","fence":7,"beat":1}`)); err != nil {
			t.Fatal(err)
		}
		stopA = begin(s, "a")
		time.Sleep(time.Second)
		stopA()
		all.Wait()
		if _, err := s.Put(context.Background(), "lead", []byte(`{"holder":"a","fence":9,"beat":1}`)); err != nil {
			t.Fatal(err)
		}
		stopB = begin(s, "b")
		time.Sleep(time.Minute)
		stopB()
		all.Wait()
		want := []string{
			"0s a leads with 1",
			"1m10s a does not", "1m12.5s b leads with 2", // both within the bounds of the lease
			"3m1s b does not", "3m1s a leads with 3",
			"4m1s a does not",
			"4m1s a leads with 8", "4m2s a does not",
			"4m14.5s b leads with 10", "5m2s b does not",
		}
		compare(t, w.list, want)
	})
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%d: %q, want %q", i, g, w)
		}
	}
}

// TestLeadReturns: a leader whose work is done releases the lease.
func TestLeadReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.NewStore()
		for i := range uint64(3) {
			err := bus.Lead(context.Background(), s, bus.LeaseConfig{Key: "lead", Holder: fmt.Sprint("h", i)},
				func(_ context.Context, fence uint64) {
					if fence != i+1 {
						t.Errorf("fence %d, want %d", fence, i+1)
					}
				})
			if err != nil {
				t.Error(err)
			}
		}
		if err := bus.Lead(context.Background(), s, bus.LeaseConfig{Key: "lead"}, nil); err == nil {
			t.Error("led without a name")
		}
	})
}

// TestLeadOnTheRealStore is the same test with JetStream, in virtual time.
func TestLeadOnTheRealStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := bustest.Embedded(t)
		s, err := srv.Store(context.Background(), "leases")
		if err != nil {
			t.Fatal(err)
		}
		w := &terms{begin: time.Now(), t: t}
		var all sync.WaitGroup
		var stops []func()
		for _, name := range []string{"a", "b"} {
			ctx, cancel := context.WithCancel(context.Background())
			stops = append(stops, cancel)
			all.Go(func() { _ = bus.Lead(ctx, s, bus.LeaseConfig{Key: "lead", Holder: name}, w.lead(name)) })
			time.Sleep(time.Second)
		}
		for _, stop := range stops {
			time.Sleep(time.Minute)
			stop()
		}
		all.Wait()
		compare(t, w.list, []string{"0s a leads with 1", "1m2s a does not", "1m2s b leads with 2", "2m2s b does not"})
		srv.Close()
	})
}
