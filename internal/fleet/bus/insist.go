package bus

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

const (
	// storeTry limits the wait for one answer of the store. An answer can be lost.
	storeTry = 2500 * time.Millisecond
	// storeTime limits the attempts to get an answer from the store.
	storeTime = 10 * time.Second
	storeWait = 100 * time.Millisecond // between two attempts
	// stillWriting is the server's error about a write that it has received but not finished.
	stillWriting jetstream.ErrorCode = 10158
	// anotherWrite is the server's error about a key with another unfinished write. Without a
	// quorum that write does not finish.
	anotherWrite = jetstream.JSErrCodeStreamWrongLastSequenceConstant
	// noQuorum is the server's error about a request that needs more hubs than there are.
	noQuorum jetstream.ErrorCode = 10008
)

// Headers of the messages of a bucket.
const (
	idHeader     = jetstream.MsgIDHeader
	changeHeader = "KV-Operation"
	markerHeader = "Nats-Marker-Reason"
)

// insist repeats ask until the store answers, at most for storeTime or the rest of WithSilence. ask
// must be idempotent. If no answer arrives within this time or before the caller's deadline, the
// error is fleet.ErrNoAnswer. If the caller cancels ctx, the error is that error of ctx.
func insist(ctx context.Context, cut *renewals, ask func(context.Context) error) error {
	silence := silenceOf(ctx)
	all, stop := context.WithTimeout(ctx, silence.left())
	defer stop()
	for {
		began, err := time.Now(), all.Err()
		if err == nil {
			err = askOnce(all, cut, ask)
		}
		if !unanswered(err) {
			return err
		}
		waits := pause(all, storeWait)
		silence.add(time.Since(began))
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		if !waits {
			return noAnswer{err}
		}
	}
}

// noAnswer is fleet.ErrNoAnswer because of an error of the store. Its text does not contain that
// error: operators cannot use "nats: timeout".
type noAnswer struct{ cause error }

func (noAnswer) Error() string { return fleet.ErrNoAnswer.Error() + " in time" }

// Unwrap returns the kind of the error and its cause.
func (e noAnswer) Unwrap() []error { return []error{fleet.ErrNoAnswer, e.cause} }

func askOnce(ctx context.Context, cut *renewals, ask func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, storeTry)
	defer stop()
	ctx, done := asking(ctx, cut)
	return done(ask(ctx))
}

// unanswered returns true if no answer arrived, so that the result of the request is unknown.
func unanswered(err error) bool {
	waits := []jetstream.ErrorCode{stillWriting, anotherWrite, noQuorum}
	if e := (*jetstream.APIError)(nil); errors.As(err, &e) && slices.Contains(waits, e.ErrorCode) {
		return true
	}
	for _, none := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		jetstream.ErrNoStreamResponse, ErrLost} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// last is the newest message of a key, without its value.
type last struct {
	rev  uint64
	id   string // ID of the write
	gone bool
}

func (s *store) last(ctx context.Context, key string) (last, error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, s.subject(key))
	if err != nil {
		return last{}, err
	}
	return last{m.Sequence, m.Header.Get(idHeader), isGone(m)}, nil
}

func isGone(m *jetstream.RawStreamMsg) bool {
	return m.Header.Get(changeHeader) != "" || m.Header.Get(markerHeader) != ""
}

func (s *store) subject(key string) string { return "$KV." + s.kv.Bucket() + "." + key }

// write writes one message, and returns its revision. All attempts have the same ID: the server
// stores the message once, and write recognises it even if the answer was lost.
func (s *store) write(ctx context.Context, key string, value []byte, header nats.Header) (rev uint64, err error) {
	id, again := newToken()+newToken(), false
	header.Set(idHeader, id)
	m := &nats.Msg{Subject: s.subject(key), Header: header, Data: value}
	return rev, insist(ctx, s.cut, func(ctx context.Context) error {
		first := !again
		again = true
		ack, err := s.js.PublishMsg(ctx, m)
		if err == nil {
			rev = ack.Sequence
			return nil
		}
		if first || !conflicts(err) {
			return err
		}
		is, unread := s.last(ctx, key)
		if unread == nil && is.id == id {
			rev = is.rev
			return nil
		}
		if unanswered(unread) {
			return unread
		}
		return err
	})
}
