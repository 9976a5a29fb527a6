package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// MaxBody is the maximum size of the body of a request, a notification or an answer, in bytes:
// a signed assignment and some room.
const MaxBody = 2 << 20

// maxErrorText is the maximum size of the text of an error that is sent to the other end, in bytes.
const maxErrorText = 4 << 10

// kinds are the errors that keep their identity on the wire. The code of an error is its index here
// plus two; 1 is any other error.
func kinds() []error {
	return []error{fleet.ErrNotFound, fleet.ErrConflict, fleet.ErrOffline, fleet.ErrNoHub, fleet.ErrDenied}
}

// RemoteError is an error that the other end returned.
type RemoteError struct {
	Text string // the error text of the other end
	kind error
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap returns the error of package fleet that the other end returned, or nil.
func (e *RemoteError) Unwrap() error { return e.kind }

// packAnswer encodes an answer: 0 and the body, or the code of the error and its text.
func packAnswer(body []byte, err error) []byte {
	if err == nil && len(body) <= MaxBody {
		return append([]byte{0}, body...)
	}
	if err == nil {
		err = fmt.Errorf("cannot send an answer of %d bytes: the maximum is %d", len(body), MaxBody)
	}
	text := err.Error()
	return append([]byte{codeOf(err)}, text[:min(len(text), maxErrorText)]...)
}

func codeOf(err error) byte {
	for i, kind := range kinds() {
		if errors.Is(err, kind) {
			return byte(i + 2)
		}
	}
	return 1
}

// openAnswer decodes the bytes of packAnswer. An error of the other end is returned as *RemoteError.
func openAnswer(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("cannot read an empty answer")
	}
	if b[0] == 0 {
		return b[1:], nil
	}
	e := &RemoteError{Text: string(b[1:min(len(b), maxErrorText+1)])}
	if i := int(b[0]) - 2; i >= 0 && i < len(kinds()) {
		e.kind = kinds()[i]
	}
	return nil, e
}

// askTime limits the wait for an answer if the caller's context has no deadline.
const askTime = time.Minute

// withAskTime returns a context that has a deadline.
func withAskTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, askTime)
}
