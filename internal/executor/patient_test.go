package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// busy is locked for the first so many tries.
type busy struct {
	executor.Executor
	left, tries int
}

func (b *busy) Confirm(context.Context, executor.Options) (int, error) {
	b.tries++
	if b.left--; b.left >= 0 {
		return 0, executor.ErrLocked
	}
	return 7, nil
}

// TestPatient: it waits as long as it may, tells once that it does, and ends with the
// caller.
func TestPatient(t *testing.T) {
	for _, c := range []struct {
		name         string
		left, tries  int
		most, within time.Duration
		cancel       time.Duration
		ok           bool
	}{
		{"free", 0, 1, time.Minute, 0, 0, true},
		{"free in time", 3, 4, time.Minute, 3 * time.Second, 0, true},
		{"too late", 100, 6, 5 * time.Second, 5 * time.Second, 0, false},
		{"not at all", 1, 1, 0, 0, 0, false},
		{"cancelled", 100, 3, time.Hour, 2500 * time.Millisecond, 2500 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, told := &busy{left: c.left}, 0
				x := executor.Patient(b, executor.Patience{For: c.most, OnFirstRefusal: func(error) { told++ }})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				began := time.Now()
				run, err := x.Confirm(ctx, executor.Options{})
				if (err == nil) != c.ok || c.ok && run != 7 || !c.ok && !errors.Is(err, executor.ErrLocked) {
					t.Errorf("%d, %v", run, err)
				}
				if b.tries != c.tries || time.Since(began) != c.within {
					t.Errorf("%d tries in %s", b.tries, time.Since(began))
				}
				if want := min(1, c.tries-1); told != want {
					t.Errorf("told %d times", told)
				}
			})
		})
	}
}
