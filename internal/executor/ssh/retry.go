package ssh

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// tries is how often a connection is begun in all. sshd turns some away when many
// come at once (MaxStartups in sshd_config(5)), and bastions feel that first.
const tries = 5

// backoff is the longest pause before the second try; it doubles with each.
const backoff = 500 * time.Millisecond

// openPatiently tries again if the other end disconnected before its first message.
// Nothing that was started is started a second time.
func openPatiently(ctx context.Context, a Address, o Options) (*Session, error) {
	for try := 1; ; try++ {
		s, err := open(ctx, a, o)
		if err == nil || try == tries || !brokeOff(err) || !o.pause(ctx, try) {
			return s, err
		}
	}
}

// brokeOff tells whether a connection ended before there was one.
func brokeOff(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == Unreachable && strings.Contains(e.Said, turnedAway)
}

// pause waits for a random part of the longest pause, so that clients refused at the same
// time do not return at the same time. It returns false if ctx ends first.
func (o Options) pause(ctx context.Context, try int) bool {
	wait := time.NewTimer(o.Jitter(backoff << (try - 1)))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter is any part of the longest pause.
func jitter(most time.Duration) time.Duration { return rand.N(most) + time.Millisecond }
