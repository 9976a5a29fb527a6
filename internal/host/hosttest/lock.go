package hosttest

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/host"
)

// lock: one holder at a time, whose name other processes can read.
func (s suite) lock(t *testing.T) {
	l, ok := s.open(t).(host.Locker)
	if !ok {
		t.Fatal("this driver has no lock")
	}
	holder := func(want string) {
		t.Helper()
		if got, err := l.Holder("/lock"); got != want || err != nil {
			t.Errorf("the lock is held by %q, %v, want %q", got, err, want)
		}
	}
	holder("")
	held, err := l.Lock("/lock", "the first")
	must(t, err)
	holder("the first")
	var locked *host.LockedError
	if _, err := l.Lock("/lock", "the second"); !errors.As(err, &locked) || locked.Holder != "the first" {
		t.Errorf("a second lock: %v", err)
	}
	must(t, held.Close())
	holder("")
	held, err = l.Lock("/lock", "2nd")
	must(t, err)
	holder("2nd")
	must(t, held.Close())
	holder("")
}
