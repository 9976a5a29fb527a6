package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrLost means that a stream ended because its connection did.
var ErrLost = errors.New("the connection was lost")

const (
	window      = 256 << 10 // bytes in flight in one direction
	chunk       = 32 << 10  // bytes of one frame
	pingTime    = 10 * time.Second
	pingsMissed = 3 // after this number of pings without a frame, the other end is gone
)

const (
	frameData  = 'D'
	frameGrant = 'G'
	frameFin   = 'F'
	frameReset = 'R'
	framePing  = 'P'
)

// stream is one end of a stream of bytes: an io.ReadWriteCloser. Reads and writes may come from
// several goroutines. Closing ends both directions: the other end can read the bytes that were
// written before, then reads the end, and cannot write any more.
type stream struct {
	send   func(frame []byte) error
	forget func()
	stop   context.CancelFunc // ends the pings

	writing sync.Mutex // serialises Write; taken before mu
	mu      sync.Mutex
	changed *sync.Cond

	in       bytes.Buffer
	received uint64 // bytes that arrived
	consumed uint64 // bytes that were read
	granted  uint64 // bytes that the other end may send
	sent     uint64
	allowed  uint64
	ended    bool // the other end closed
	closed   bool // this end closed
	err      error
	missed   int
}

func newStream(send func([]byte) error, forget func()) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{send: send, forget: forget, stop: cancel, granted: window, allowed: window}
	s.changed = sync.NewCond(&s.mu)
	go s.pings(ctx)
	return s
}

// pings sends keep-alives to the other end, and fails the stream if the other end sends nothing.
func (s *stream) pings(ctx context.Context) {
	t := time.NewTicker(pingTime)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		s.missed++
		gone := s.missed > pingsMissed
		s.mu.Unlock()
		if gone {
			s.fail(ErrLost)
			return
		}
		_ = s.send([]byte{framePing}) // the missing frames of the other end reveal a loss
	}
}

func withOffset(kind byte, offset uint64, body []byte) []byte {
	b := binary.AppendUvarint([]byte{kind}, offset)
	return append(b, body...)
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	for s.in.Len() == 0 && !s.ended && !s.closed && s.err == nil && len(p) > 0 {
		s.changed.Wait()
	}
	if s.closed {
		s.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	n, _ := s.in.Read(p)
	s.consumed += uint64(n)
	err := s.err
	if n > 0 || len(p) == 0 {
		err = nil
	} else if s.ended {
		err = io.EOF
	}
	var grant []byte
	if s.granted-s.consumed <= window/2 && !s.ended && s.err == nil {
		s.granted = s.consumed + window
		grant = withOffset(frameGrant, s.granted, nil)
	}
	s.mu.Unlock()
	if grant != nil {
		_ = s.send(grant) // pings detect a loss
	}
	return n, err
}

func (s *stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	done := 0
	for done < len(p) {
		n, offset, err := s.room(len(p) - done)
		if err != nil {
			return done, err
		}
		if err := s.send(withOffset(frameData, offset, p[done:done+n])); err != nil {
			s.fail(fmt.Errorf("%w: %w", ErrLost, err))
			return done, err
		}
		done += n
	}
	return done, nil
}

// room waits until the other end grants bytes, and reserves up to want of them.
func (s *stream) room(want int) (n int, offset uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.allowed == s.sent && !s.ended && !s.closed && s.err == nil {
		s.changed.Wait()
	}
	switch {
	case s.err != nil:
		return 0, 0, s.err
	case s.closed || s.ended:
		return 0, 0, io.ErrClosedPipe
	}
	n, offset = int(min(s.allowed-s.sent, chunk, uint64(want))), s.sent
	s.sent += uint64(n)
	return n, offset, nil
}

// Close may be called again. A concurrent Write fails.
func (s *stream) Close() error {
	s.mu.Lock()
	was, broken := s.closed, s.err != nil
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	if was {
		return nil
	}
	defer s.forget()
	defer s.stop()
	s.writing.Lock()
	defer s.writing.Unlock()
	if !broken {
		return s.send(withOffset(frameFin, s.sent, nil))
	}
	return nil
}

// abort breaks the stream at both ends.
func (s *stream) abort(why error) {
	_ = s.send(append([]byte{frameReset}, why.Error()[:min(len(why.Error()), maxErrorText)]...))
	s.fail(why)
	s.forget()
}

// fail ends the stream at this end. The first error is kept. Bytes that arrived before can still be
// read.
func (s *stream) fail(why error) {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = why
	}
	s.changed.Broadcast()
}

// frame handles a frame of the other end. It never blocks.
func (s *stream) frame(b []byte) {
	if len(b) == 0 {
		return
	}
	if b[0] == frameReset {
		s.fail(fmt.Errorf("%w: %.200q", ErrLost, b[1:]))
		return
	}
	offset, n := binary.Uvarint(b[1:])
	if b[0] != framePing && n <= 0 {
		s.abort(errors.New("cannot read a frame of the stream"))
		return
	}
	if err := s.take(b[0], offset, b[1+max(n, 0):]); err != nil {
		s.abort(err)
	}
}

func (s *stream) take(kind byte, offset uint64, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	s.missed = 0
	switch kind {
	case frameData, frameFin:
		return s.come(kind == frameFin, offset, body)
	case frameGrant:
		s.allowed = max(s.allowed, offset)
	}
	return nil
}

// come must be called with the lock held.
func (s *stream) come(fin bool, offset uint64, body []byte) error {
	switch {
	case s.closed || s.ended || s.err != nil || offset < s.received:
		return nil // no reader, or a duplicate
	case offset > s.received:
		return fmt.Errorf("%w: %d bytes are missing", ErrLost, offset-s.received)
	case s.received+uint64(len(body)) > s.granted:
		return fmt.Errorf("%w: the other end sent more than was granted", ErrLost)
	}
	s.ended = fin
	if fin {
		s.stop()
		return nil
	}
	s.in.Write(body)
	s.received += uint64(len(body))
	return nil
}
