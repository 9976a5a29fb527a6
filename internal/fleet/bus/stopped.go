package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrStopped is in the chain of the error of Stopped.
var ErrStopped = errors.New("the store of this hub has stopped")

// ends are parts of the server's messages when it stops using its files permanently, because it
// could not write them. It does not try again when space is free.
var ends = [...]string{"Critical write error", "will be DISABLED", "disabling JetStream",
	"JetStream failed to store a msg"}

// lookEvery is the interval of the checks whether the store still runs.
const lookEvery = time.Second

// Stopped waits until the store stops by itself, and returns the reason. It returns nil when ctx
// ends. The process continues, but stores nothing: only a new Server does.
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

// heard records a message of the server if it means that the store has stopped.
func (s *Server) heard(text string) {
	if !slices.ContainsFunc(ends[:], func(end string) bool { return strings.Contains(text, end) }) {
		return
	}
	select {
	case s.ended <- text:
	default: // recorded before
	}
}

// refusedHint explains the alert of another hub that does not accept the certificate of this hub.
func refusedHint(why string) string {
	for _, alert := range []string{"bad certificate", "revoked certificate", "certificate revoked",
		"expired certificate", "certificate expired"} {
		if strings.Contains(why, "remote error: tls: ") && strings.Contains(why, alert) {
			return ". The other hub refuses the certificate of this hub. Check at the other hub whether this hub was retired: fettle hub list. A retired hub can be removed: systemctl disable --now fettle-hub"
		}
	}
	return ""
}

// plain explains a message of the server, for example about a full disk. The result is the same for
// all buckets and logs, so that it is logged once.
func plain(text string) string {
	for _, why := range []string{"no space left on device", "disk quota exceeded", "read-only file system",
		"permission denied", "input/output error"} {
		if strings.Contains(text, why) {
			return "the store cannot write its files: " + why
		}
	}
	for _, e := range explained {
		if strings.Contains(text, e.has) {
			return e.means
		}
	}
	return text
}

// explained are messages of the NATS server with their meaning for an operator.
var explained = [...]struct{ has, means string }{
	{"will be DISABLED", "the store cannot write its files, and stops"},
	{"JetStream cluster no metadata leader",
		"the store has no leader, so nothing can be changed: most hubs must be reachable. See: fettle hub list"},
	{"has NO quorum", "the store has no leader, so nothing can be changed: most hubs must be reachable. See: fettle hub list"},
	{"has no quorum", "the store has no leader, so nothing can be changed: most hubs must be reachable. See: fettle hub list"},
	{"Slow Consumer", "another hub or this hub reads too slowly and was disconnected. It connects again by itself"},
	{"Stale Connection",
		"another hub did not answer for several seconds and was disconnected. It connects again by itself"},
}
