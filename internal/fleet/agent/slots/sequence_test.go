package slots

import (
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host/mem"
)

// TestSequence: numbers increase, also after the agent started again, the clock jumped back, or the disk was restored.
func TestSequence(t *testing.T) {
	state, now := mem.New(mem.Options{}), time.Unix(1e9, 0)
	begin := func() *Sequence {
		return &Sequence{State: state, File: "/order.json", Now: func() time.Time { return now }}
	}
	last := uint64(0)
	for _, at := range []int64{1e9, 1e9, 5e8, 0, -5, 1e9 + 10} {
		now = time.Unix(at, 0)
		s := begin()
		for range 3 {
			next := s.Next()
			if next <= last {
				t.Errorf("at %d, %d follows %d", at, next, last)
			}
			last = next
		}
	}
	state, now = mem.New(mem.Options{}), time.Unix(1e9+100, 0)
	if next := begin().Next(); next <= last {
		t.Errorf("on a disk without the file, %d follows %d", next, last)
	}
	state = mem.New(mem.Options{Count: func(string, string) error { return errors.New("the disk is full") }})
	if next := begin().Next(); next != 0 {
		t.Errorf("without a stored number, the next one is %d", next)
	}
}
