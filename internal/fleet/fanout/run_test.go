package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet/fanout"
)

func Example() {
	work := func(_ context.Context, target string) fanout.Outcome {
		if target == "db1" {
			return fanout.Outcome{Status: fanout.Failed, Why: "the disk is full"}
		}
		return fanout.Outcome{Status: fanout.Changed, Why: "3 steps"}
	}
	sum := fanout.Run(context.Background(), []string{"web1", "db1", "web2"},
		fanout.Options{Parallel: 1, MaxFailed: &amount.Amount{}}, work, nil, nil)
	for _, r := range sum {
		fmt.Println(r.Target, r.Outcome.Status, r.Outcome.Why)
	}
	// Output:
	// web1 changed 3 steps
	// db1 failed the disk is full
	// web2 skipped not begun, since 1 failed
}

func targets(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("t%03d", i))
	}
	return out
}

// slow takes as many seconds as the number of its target, or until it is cancelled; most is the
// maximum of concurrent calls.
func slow(most *atomic.Int64) func(context.Context, string) fanout.Outcome {
	var now atomic.Int64
	return func(ctx context.Context, target string) fanout.Outcome {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		seconds := 0
		if _, err := fmt.Sscanf(target, "t%d", &seconds); err != nil {
			return fanout.Outcome{Status: fanout.Failed, Why: err.Error()}
		}
		select {
		case <-ctx.Done():
			return fanout.Outcome{Status: fanout.Failed, Why: context.Cause(ctx).Error()}
		case <-time.After(time.Duration(seconds) * time.Second):
			return fanout.Outcome{Status: fanout.OK}
		}
	}
}

// A bubble ends only when all of its goroutines have ended, so Run leaves none behind.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int64
		begin := time.Now()
		last := fanout.Event{}
		sum := fanout.Run(t.Context(), targets(100), fanout.Options{Parallel: 7, Batch: amount.Amount{Number: 20}},
			slow(&most), nil, func(e fanout.Event) {
				if e.At.Before(last.At) {
					t.Error("an event before the last one", e)
				}
				last = e
			})
		if sum.Count(fanout.OK) != 100 || most.Load() != 7 || last.What != fanout.Finished || last.At == begin {
			t.Error(sum.Count(fanout.OK), most.Load(), last)
		}
		if r := sum[42]; r.Target != "t042" || r.Ended.Sub(r.Began) != 42*time.Second {
			t.Error(r)
		}
	})
}

// The default is one batch with DefaultParallel at once.
func TestRunDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most atomic.Int64
		if sum := fanout.Run(t.Context(), targets(200), fanout.Options{}, slow(&most), nil,
			nil); sum.Count(fanout.OK) != 200 || most.Load() != fanout.DefaultParallel {
			t.Error(sum.Count(fanout.OK), most.Load())
		}
	})
}

func TestRunInterrupted(t *testing.T) {
	for _, c := range []struct {
		name  string
		times int
		after time.Duration
		want  string
	}{
		{"once", 1, 3500 * time.Millisecond, "7 ok, 0 failed, 13 skipped"},   // t000 to t006 had begun
		{"twice", 2, 3500 * time.Millisecond, "4 ok, 3 failed, 13 skipped"},  // of them t004 to t006 ran
		{"thrice", 3, 3500 * time.Millisecond, "4 ok, 3 failed, 13 skipped"}, // there is nothing more to stop
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				interrupts := make(chan struct{}, c.times)
				go func() {
					time.Sleep(c.after)
					for range c.times {
						interrupts <- struct{}{}
					}
					close(interrupts)
				}()
				var most atomic.Int64
				sum := fanout.Run(t.Context(), targets(20), fanout.Options{Parallel: 3}, slow(&most), interrupts, nil)
				if got := fmt.Sprintf("%d ok, %d failed, %d skipped", sum.Count(fanout.OK), sum.Count(fanout.Failed),
					sum.Count(fanout.Skipped)); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				for _, r := range sum {
					if r.Outcome.Status == fanout.Failed && r.Outcome.Why != fanout.ErrInterrupted.Error() {
						t.Error(r)
					}
				}
			})
		})
	}
}

// The end of the context cancels all running targets at once.
func TestRunContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the terminal is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(2500 * time.Millisecond)
			cancel(gone)
		}()
		var most atomic.Int64
		var seen []string
		sum := fanout.Run(ctx, targets(8), fanout.Options{Parallel: 2}, slow(&most), nil,
			func(e fanout.Event) { seen = append(seen, e.What.String()) })
		if sum.Count(fanout.Failed) != 2 || !strings.Contains(fmt.Sprint(sum), gone.Error()) ||
			!slices.Contains(seen, "cancelled") {
			t.Error(sum, seen)
		}
		sum = fanout.Run(ctx, targets(8), fanout.Options{}, slow(&most), nil, nil)
		if sum.Count(fanout.Skipped) != 8 {
			t.Error("with a context that has ended", sum)
		}
	})
}
