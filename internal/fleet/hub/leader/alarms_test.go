package leader

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/assign"
)

// Assigning does not wait until alarms are stored, and finally the newest alarms are stored.
func TestAlarmsDoNotBlock(t *testing.T) {
	l := newAlarms(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	began, proceed, kept := make(chan struct{}, 10), make(chan struct{}), make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- l.follow(ctx, func(_ context.Context, a []assign.Alarm) {
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
