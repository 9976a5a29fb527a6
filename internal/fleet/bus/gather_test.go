package bus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// read returns the current content of a log, by seq.
func read(t *testing.T, l *bustest.Log) (out [][]string) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		synctest.Wait()
	}()
	_ = l.Follow(ctx, 0, func(_ uint64, records [][]byte) error {
		var texts []string
		for _, r := range records {
			texts = append(texts, string(r))
		}
		out = append(out, texts)
		return nil
	})
	return out
}

// TestGather: concurrent appends become one message, each append returns its seq after the commit,
// and appends during a commit are in the next one.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bustest.NewLog()
		l.Delay(50 * time.Millisecond)
		g := bus.NewGather(l, bus.GatherConfig{})
		begin := time.Now()
		var all sync.WaitGroup
		add := func(name string, wantSeq uint64, wantAfter time.Duration) {
			all.Go(func() {
				seq, err := g.Append(context.Background(), [][]byte{[]byte(name)})
				if after := time.Since(begin); seq != wantSeq || err != nil || after != wantAfter {
					t.Errorf("%s: %d after %s, %v", name, seq, after, err)
				}
			})
		}
		for i := range 100 {
			add(fmt.Sprintf("a%02d", i), 1, 52*time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
		for i := range 100 {
			add(fmt.Sprintf("b%02d", i), 2, 102*time.Millisecond)
		}
		all.Wait()
		time.Sleep(time.Second)
		begin = time.Now()
		add("c", 3, 52*time.Millisecond)
		all.Wait()
		got := read(t, l)
		if len(got) != 3 || len(got[0]) != 100 || len(got[1]) != 100 || !slices.Equal(got[2], []string{"c"}) {
			t.Errorf("the log has %v", got)
		}
	})
}

func TestGatherBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bustest.NewLog()
		l.Delay(time.Millisecond)
		g := bus.NewGather(l, bus.GatherConfig{Wait: time.Hour, Bytes: 250})
		begin := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, err := g.Append(context.Background(), [][]byte{make([]byte, 96)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if after := time.Since(begin); after != 3*time.Millisecond {
			t.Errorf("three commits took %s", after)
		}
		var sizes []int
		for _, records := range read(t, l) {
			sizes = append(sizes, len(records))
		}
		if len(sizes) != 3 || sizes[0] != 2 || sizes[1] != 2 {
			t.Errorf("commits of %v records", sizes)
		}
		if _, err := g.Append(context.Background(), [][]byte{make([]byte, bus.MaxBatch)}); err == nil {
			t.Error("took more than a batch may have")
		}
	})
}

// TestGatherFails: all appends of a failed commit return its error, and the next commit is tried.
func TestGatherFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bustest.NewLog()
		g := bus.NewGather(l, bus.GatherConfig{})
		full := errors.New("the disk is full")
		l.Break(full)
		if _, err := g.Append(context.Background(), nil); !errors.Is(err, full) {
			t.Errorf("a log that fails: %v", err)
		}
		l.Break(nil)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := g.Append(ctx, [][]byte{[]byte("x")}); !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait: %v", err)
		}
		if seq, err := g.Append(context.Background(), nil); seq == 0 || err != nil {
			t.Errorf("the next: %d, %v", seq, err)
		}
	})
}

// TestGatherForgets: durable records are not kept in memory, even if no further append follows.
func TestGatherForgets(t *testing.T) {
	g := bus.NewGather(discard{}, bus.GatherConfig{Wait: time.Nanosecond})
	var records []weak.Pointer[[4096]byte]
	for range 10 {
		r := new([4096]byte)
		records = append(records, weak.Make(r))
		if _, err := g.Append(context.Background(), [][]byte{r[:]}); err != nil {
			t.Fatal(err)
		}
	}
	bustest.Await(t, "the records to be forgotten", func() bool {
		runtime.GC()
		return !slices.ContainsFunc(records, func(p weak.Pointer[[4096]byte]) bool { return p.Value() != nil })
	})
	runtime.KeepAlive(g)
}

// discard is a log that stores nothing.
type discard struct{ fleet.Log }

func (discard) Append(context.Context, [][]byte) (uint64, error) { return 1, nil }
