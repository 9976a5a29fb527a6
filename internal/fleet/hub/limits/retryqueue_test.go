package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRetryQueue: the concurrency is limited. A task that fails, or takes too long, is retried
// without blocking other tasks, and is dropped when it is no longer worth an attempt.
func TestRetryQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e RetryQueue
		var mu sync.Mutex
		done, now, most := map[string]int{}, 0, 0
		slow := errors.New("the store is busy")
		job := func(key string, fails int) func(context.Context) error {
			return func(ctx context.Context) error {
				mu.Lock()
				now++
				most = max(most, now)
				done[key]++
				fail := done[key] <= fails
				mu.Unlock()
				wait := 100 * time.Millisecond
				if fail {
					wait = time.Hour
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
				mu.Lock()
				defer mu.Unlock()
				now--
				if fail {
					return slow
				}
				return nil
			}
		}
		yes := func(error) bool { return true }
		for i := range 1000 {
			key := fmt.Sprint(i)
			for range 2 { // the second is one too many
				e.Add(t.Context(), RetryTask{Key: key, Do: job(key, i%10/9*2), Again: yes})
			}
		}
		e.Add(t.Context(), RetryTask{Key: "hopeless", Do: job("hopeless", 1000)})
		e.Add(t.Context(), RetryTask{Key: "gone", Do: job("gone", 1000),
			Again: func(err error) bool { return !errors.Is(err, slow) }})
		time.Sleep(time.Hour)
		synctest.Wait()
		if most != retryConcurrency || done["hopeless"] != retryAttempts || done["gone"] != 1 || len(e.known) != 0 ||
			e.workers != 0 {
			t.Errorf("%d at once; the hopeless was tried %d times and the one that went %d; %d are left, %d workers",
				most, done["hopeless"], done["gone"], len(e.known), e.workers)
		}
		for i := range 1000 {
			if want := 1 + i%10/9*2; done[fmt.Sprint(i)] != want {
				t.Errorf("%d was done %d times, not %d", i, done[fmt.Sprint(i)], want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.Add(ctx, RetryTask{Key: "late", Do: job("late", 0), Again: yes})
		synctest.Wait()
		if done["late"] != 0 {
			t.Error("something is done for a hub that has ended")
		}
	})
}
