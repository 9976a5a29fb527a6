//go:build !target

package cli

import (
	"fmt"
	"time"
)

// Times between messages about an operation that waits: the first comes soon, so that a user knows
// what a command waits for.
const (
	firstWaiting = 2 * time.Second
	nextWaiting  = 5 * time.Second
)

// whileWaiting prints the reason of a wait on standard error, until the caller calls end.
func whileWaiting(s *printer, what string) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTimer(firstWaiting)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				fmt.Fprintln(s.app.Stderr, what)
				t.Reset(nextWaiting)
			}
		}
	}()
	return func() { close(stop); <-ended }
}
