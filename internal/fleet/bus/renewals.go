package bus

import (
	"context"
	"errors"
	"sync"
)

// renewals tell those who follow something that the connection under it is another one: what
// followed over the old one may never hear again. The zero value is ready.
type renewals struct {
	mu  sync.Mutex
	now context.Context // until the next one begins
	end context.CancelFunc
}

// begin ends all contexts that within gave.
func (r *renewals) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end()
		r.end = nil
	}
}

// within is a context that ends with the connection of now; its cause is ErrLost then.
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

// asking is the context of one question to a store. done ends it, and says of an error that the
// connection was lost where that is the reason: nobody would answer any more. cut is nil where
// the connection keeps what it could not send.
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
