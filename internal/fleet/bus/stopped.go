package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrStopped is in the chain of the error about a store that has stopped by itself.
var ErrStopped = errors.New("the store of this hub has stopped")

// ends are what the server says when it stops using its files for good: it could not write
// them. It does not try again, also when there is room again.
var ends = [...]string{"Critical write error", "will be DISABLED", "disabling JetStream", "JetStream failed to store a msg"}

// lookEvery is how often is looked whether the store still runs.
const lookEvery = time.Second

// Stopped waits until the store has stopped by itself, and says why; it gives nil when ctx
// ends. The process goes on, but keeps nothing from then on: only a new Server does.
func (s *Server) Stopped(ctx context.Context) error {
	if s.nats == nil {
		<-ctx.Done()
		return nil
	}
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case why := <-s.ended:
			return fmt.Errorf("%w: %s", ErrStopped, plain(why))
		case <-t.C:
			if !s.nats.JetStreamEnabled() {
				return ErrStopped
			}
		}
	}
}

// heard notes what the server says if its store ends with that.
func (s *Server) heard(text string) {
	if !slices.ContainsFunc(ends[:], func(end string) bool { return strings.Contains(text, end) }) {
		return
	}
	select {
	case s.ended <- text:
	default: // it was noted before
	}
}

// plain says in plain words what the server says of a disk that is full or may not be written.
// All buckets and logs say the same then.
func plain(text string) string {
	for _, why := range []string{"no space left on device", "disk quota exceeded", "read-only file system", "permission denied", "input/output error"} {
		if strings.Contains(text, why) {
			return "the store cannot write its files: " + why
		}
	}
	if strings.Contains(text, "will be DISABLED") {
		return "the store cannot write its files, and stops"
	}
	return text
}
