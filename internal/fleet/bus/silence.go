package bus

import (
	"context"
	"sync"
	"time"
)

// silence counts the time that the calls of one context have waited for a store that did not
// answer. A request often needs several calls, and must not wait the full time for each call.
type silence struct {
	limit time.Duration

	mu     sync.Mutex
	waited time.Duration
	last   time.Time // when a call last waited without an answer
}

type silenceKey struct{}

// WithSilence limits how long all calls to stores and logs with the returned context together wait
// without an answer. Answers do not count, however many there are. After storeTime without a
// call, a new limit begins: a context can be that of a stream.
func WithSilence(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, silenceKey{}, &silence{limit: limit})
}

// silenceOf returns the limit of a context, or nil.
func silenceOf(ctx context.Context) *silence {
	s, _ := ctx.Value(silenceKey{}).(*silence)
	return s
}

// left returns the time that the next call may wait for an answer. A nil silence allows storeTime.
func (s *silence) left() time.Duration {
	if s == nil {
		return storeTime
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) > storeTime {
		s.waited = 0
	}
	return min(storeTime, s.limit-s.waited)
}

// add counts the time that an unanswered call has taken.
func (s *silence) add(d time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited += d
	s.last = time.Now()
}
