package bus

import (
	"context"
	"errors"
	"sync"
)

// renewals notify subscribers that the connection was replaced: a subscription of the old
// connection may receive nothing more. The zero value is ready to use.
type renewals struct {
	mu  sync.Mutex
	now context.Context // until the next begin
	end context.CancelFunc
}

// begin ends all contexts of within.
func (r *renewals) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// within returns a context that ends with the current connection; its cause is then ErrLost.
func (r *renewals) within(ctx context.Context) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	if r.end == nil {
		r.now, r.end = context.WithCancel(context.Background())
	}
	now := r.now
	r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(now, func() { cancel(ErrLost) })
	return ctx, func() { stop(); cancel(nil) }
}

// asking returns the context of one request to a store. done ends it, and replaces an error by
// ErrLost if the connection was lost: the answer would never arrive. cut is nil if the connection
// resends unsent messages.
func asking(ctx context.Context, cut *renewals) (asked context.Context, done func(error) error) {
	asked, end := withAskTime(ctx)
	if cut == nil {
		return asked, func(err error) error { end(); return err }
	}
	asked, stop := cut.within(asked)
	return asked, func(err error) error {
		if err != nil && errors.Is(context.Cause(asked), ErrLost) {
			err = ErrLost
		}
		stop()
		end()
		return err
	}
}
