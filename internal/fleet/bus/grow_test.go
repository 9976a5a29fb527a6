package bus_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/host/local"
)

// growing is a bus that begins as one hub.
type growing struct {
	t     *testing.T
	files *local.Host
	seats []seat
	hubs  []*bus.Server
}

func newGrowing(t *testing.T) *growing {
	files, err := local.Open("/", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return &growing{t: t, files: files, seats: newAuthority(t).seats(t, 3), hubs: make([]*bus.Server, 3)}
}

// begin starts a hub that knows some other hubs.
func (g *growing) begin(i int, knows ...int) {
	g.t.Helper()
	s := g.seats[i]
	conf, err := s.conf()
	if err != nil {
		g.t.Fatal(err)
	}
	c := &bus.Cluster{Name: "fleet", Listen: s.Listen, TLS: conf, Files: g.files, Peers: []string{s.Name},
		Identify: func(state *tls.ConnectionState) error {
			_, err := of("hub", state)
			return err
		}}
	for _, k := range knows {
		c.Peers, c.Routes = append(c.Peers, g.seats[k].Name), append(c.Routes, g.seats[k].Listen)
	}
	g.hubs[i], err = bus.Start(context.Background(),
		bus.Config{Dir: s.Dir, Name: s.Name, Listen: "127.0.0.1:0", TLS: conf, Identify: identify, Cluster: c, Warn: g.warn})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(g.hubs[i].Close)
}

func (g *growing) warn(text string) {
	if strings.Contains(text, "SIGQUIT") {
		return
	}
	g.t.Log(text)
}

// tend calls AdjustCopies until the data is stored on these hubs.
func (g *growing) tend(by int, who ...int) {
	g.t.Helper()
	var names []string
	for _, i := range who {
		names = append(names, g.seats[i].Name)
	}
	begin := time.Now()
	bustest.Await(g.t, fmt.Sprintf("the bus is on %v", names), func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done, err := g.hubs[by].AdjustCopies(ctx, names)
		if err != nil {
			g.t.Log(err)
		}
		if done && err == nil {
			return true
		}
		time.Sleep(200 * time.Millisecond)
		return false
	})
	copies, err := g.hubs[by].Copies(context.Background())
	if err != nil || len(copies) == 0 {
		g.t.Fatal(copies, err)
	}
	for _, c := range copies {
		if len(c.Peers) != len(who) || c.Desired != len(who) {
			g.t.Errorf("%s is on %+v, of %d", c.Name, c.Peers, c.Desired)
		}
	}
	g.t.Logf("on %v after %s", names, time.Since(begin).Round(time.Millisecond))
}

// writer writes until it is stopped, and records the acknowledged writes.
type writer struct {
	mu   sync.Mutex
	log  []string
	stop func()
}

func (g *growing) write(i int, name string) *writer {
	g.t.Helper()
	l, err := g.hubs[i].Log(context.Background(), bus.LogConfig{Name: "events"})
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	w := &writer{stop: func() { cancel(); <-ended }}
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			text := fmt.Sprintf("%s-%d", name, n)
			once, end := context.WithTimeout(ctx, 3*time.Second)
			if _, err := l.Append(once, [][]byte{[]byte(text)}); err == nil {
				w.mu.Lock()
				w.log = append(w.log, text)
				w.mu.Unlock()
			}
			end()
		}
	}()
	return w
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// all checks that all acknowledged writes exist, read from one hub.
func (g *growing) all(i int, writers ...*writer) {
	g.t.Helper()
	l, err := g.hubs[i].Log(context.Background(), bus.LogConfig{Name: "events"})
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := follow(ctx, l)
	for _, w := range writers {
		for _, text := range w.log {
			bustest.Await(g.t, text+" is seen", func() bool { return f.has(text) })
		}
	}
	cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		g.t.Error(err)
	}
}

// A single hub becomes a cluster of one with all of its data, at the same revisions. Of three hubs
// each has all data, and one may fail. At the end there is one hub again.
func TestGrowAndShrink(t *testing.T) {
	t.Parallel()
	g := newGrowing(t)
	ctx := context.Background()
	alone, err := bus.Start(ctx, bus.Config{Dir: g.seats[0].Dir, Name: g.seats[0].Name, DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	g.hubs[0] = alone
	had := g.write(0, "alone")
	s, err := alone.Store(ctx, "things")
	if err != nil {
		t.Fatal(err)
	}
	var before []fleet.Entry
	for n := range 300 {
		if _, err := s.Put(ctx, fmt.Sprint("k", n%100), fmt.Appendf(nil, "v%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	if before, err = s.All(ctx); err != nil {
		t.Fatal(err)
	}
	had.stop()
	alone.Close()

	g.begin(0)
	g.same(0, before)
	one := g.write(0, "one")
	g.begin(1, 0)
	g.tend(0, 0, 1)
	g.begin(2, 0, 1)
	g.tend(0, 0, 1, 2)
	g.same(2, before)
	g.readsWhatWasWritten()
	two := g.write(2, "two")
	bustest.Await(t, "both write", func() bool { return one.count() > 20 && two.count() > 20 })
	one.stop()
	g.hubs[0].Close()
	n := two.count()
	bustest.Await(t, "the others go on without the first", func() bool { return two.count() > n+20 })
	g.begin(0, 1, 2)
	g.tend(2, 0, 1, 2)
	g.tend(2, 0, 2)
	g.hubs[1].Close()
	g.tend(2, 2)
	two.stop()
	g.hubs[0].Close()
	g.same(2, before)
	g.all(2, had, one, two)
	t.Logf("%d records, and all are there", had.count()+one.count()+two.count())
}

// readsWhatWasWritten: a write of one hub is visible at another hub at once.
func (g *growing) readsWhatWasWritten() {
	g.t.Helper()
	var at [3]fleet.Store
	for i := range at {
		s, err := g.hubs[i].Store(context.Background(), "things")
		if err != nil {
			g.t.Fatal(err)
		}
		at[i] = s
	}
	for n := range 150 {
		key := fmt.Sprint("n", n)
		rev, err := at[n%3].Update(context.Background(), key, []byte(key), 0)
		if err != nil {
			g.t.Fatal(err)
		}
		if e, err := at[(n+1)%3].Get(context.Background(), key); err != nil || e.Rev != rev || string(e.Value) != key {
			g.t.Fatalf("%s at %d, and another hub has %+v, %v", key, rev, e, err)
		}
	}
	if err := at[0].Delete(context.Background(), "n0", 0); err != nil {
		g.t.Fatal(err)
	}
	if _, err := at[1].Get(context.Background(), "n0"); !errors.Is(err, fleet.ErrNotFound) {
		g.t.Errorf("what was deleted: %v", err)
	}
}

func (g *growing) same(i int, want []fleet.Entry) {
	g.t.Helper()
	s, err := g.hubs[i].Store(context.Background(), "things")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range want {
		got, err := s.Get(context.Background(), e.Key)
		if err != nil || got.Rev != e.Rev || string(got.Value) != string(e.Value) {
			g.t.Fatalf("hub %d has %+v, %v; it was %+v", i, got, err, e)
		}
	}
}

// The other hubs remove a hub that is lost permanently, at any point of a copy from it. No
// acknowledged write is lost.
func TestShrinkWithoutTheOneThatGoes(t *testing.T) {
	t.Parallel()
	g := newGrowing(t)
	g.begin(0)
	w := g.write(0, "all")
	g.begin(1, 0)
	g.tend(0, 0, 1)
	g.begin(2, 0, 1)
	g.tend(0, 0, 1, 2)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for i := range g.hubs {
		for _, name := range []string{"things", "others"} {
			s, err := g.hubs[i].Store(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			for range 6 {
				watching.Go(func() { _ = s.Watch(ctx, func(fleet.Entry) {}, func() {}) })
			}
		}
	}
	g.tend(0, 0, 1, 2)
	n := w.count()
	bustest.Await(t, "it writes", func() bool { return w.count() > n+5 })
	g.hubs[1].Close()
	g.tend(2, 0, 2)
	n = w.count()
	bustest.Await(t, "it still writes", func() bool { return w.count() > n+5 })
	w.stop()
	stop()
	watching.Wait()
	g.all(2, w)
}
