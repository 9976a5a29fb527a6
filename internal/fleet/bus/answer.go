package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// MaxQuestion bounds what one question, answer or telling carries, in bytes: a signed
// assignment and some room.
const MaxQuestion = 2 << 20

// maxErrorText bounds the text of an error that travels.
const maxErrorText = 4 << 10

// kinds are the errors that stay themselves on the way, by their number less two.
func kinds() []error {
	return []error{fleet.ErrNotFound, fleet.ErrConflict, fleet.ErrOffline, fleet.ErrNoHub, fleet.ErrDenied}
}

// FarError is an error of the other end.
type FarError struct {
	Text string // as it was there
	kind error
}

func (e *FarError) Error() string { return e.Text }

// Unwrap is the error of package fleet that it was at the other end, if any.
func (e *FarError) Unwrap() error { return e.kind }

// packAnswer makes the bytes of an answer.
func packAnswer(body []byte, err error) []byte {
	if err == nil && len(body) <= MaxQuestion {
		return append([]byte{0}, body...)
	}
	if err == nil {
		err = fmt.Errorf("cannot answer with %d bytes: %d are the most", len(body), MaxQuestion)
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

// openAnswer reads the bytes of an answer.
func openAnswer(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("cannot read an answer without a byte")
	}
	if b[0] == 0 {
		return b[1:], nil
	}
	e := &FarError{Text: string(b[1:min(len(b), maxErrorText+1)])}
	if i := int(b[0]) - 2; i >= 0 && i < len(kinds()) {
		e.kind = kinds()[i]
	}
	return nil, e
}

// askTime is how long an answer is waited for where the asker's context has no end.
const askTime = time.Minute

// withAskTime gives every question an end.
func withAskTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, askTime)
}
