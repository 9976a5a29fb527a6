package leader

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// A leader gives up when the store has not answered it for long, and for no other reason.
func TestStuck(t *testing.T) {
	t0 := time.Now()
	silent := fmt.Errorf("cannot write: %w", fleet.ErrNoAnswer)
	for _, c := range []struct {
		after time.Duration
		err   error
		want  bool
	}{
		{stuckAfter - time.Second, silent, false},
		{stuckAfter, silent, true},
		{stuckAfter, fleet.ErrConflict, false},
		{time.Hour, errors.New("the repository cannot be read"), false},
	} {
		var p progress
		p.made(t0)
		if got := p.isStuck(c.err, t0.Add(c.after)); got != c.want {
			t.Errorf("%s after %v: %v", c.after, c.err, got)
		}
	}
}
