package hubclient

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/ui/cli"
)

// Times between messages about an operation that waits: the first is printed soon, so that a user knows
// the reason of the wait.
const (
	firstWaiting = 2 * time.Second
	nextWaiting  = 5 * time.Second
)

// WhileWaiting prints the reason of a wait on standard error, until the caller calls end.
func WhileWaiting(s *cli.Printer, what string) (end func()) {
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
				fmt.Fprintln(s.App.Stderr, what)
				t.Reset(nextWaiting)
			}
		}
	}()
	return func() { close(stop); <-ended }
}
