package hub

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// Assigning does not wait until alarms are stored, and finally the newest alarms are stored.
func TestAlarmsDoNotBlock(t *testing.T) {
	l := &leader{alarms: make(chan []assign.Alarm, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	began, proceed, kept := make(chan struct{}, 10), make(chan struct{}), make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- l.keepAlarms(ctx, func(_ context.Context, a []assign.Alarm) {
			began <- struct{}{}
			<-proceed
			kept <- a[0].Text
		})
	}()
	offer := func(n int) { l.offer([]assign.Alarm{{Kind: assign.NoBundle, Text: fmt.Sprint(n)}}) }
	offer(0)
	<-began // the store does not answer
	for n := range 100 {
		offer(n)
	}
	close(proceed)
	if first, second := <-kept, <-kept; first != "0" || second != "99" {
		t.Errorf("%s and %s are kept", first, second)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

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
