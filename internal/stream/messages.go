package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLost means that a stream ended because its connection did.
var ErrLost = errors.New("the connection was lost")

const (
	window = 256 << 10 // bytes in flight in one direction
	// chunk is the maximum number of bytes of one frame. A frame with its subject is below 32 KiB.
	chunk    = 31 << 10
	pingTime = 10 * time.Second
	lostTime = 4 * pingTime
	maxText  = 1 << 10 // of an error that is sent, in bytes
)

// The types of frames.
const (
	frameData  = 'D' // offset, bytes
	frameGrant = 'G' // offset: grants the bytes up to it
	frameEnd   = 'F' // offset: the end of the flow
	frameReset = 'R' // text: the stream is broken
	framePing  = 'P' // keep-alive, without an answer
)

// Messages is a carrier of messages: they arrive whole, in order, without back-pressure. They can be
// lost or duplicated.
type Messages struct {
	// Send sends one frame to the other end. It may block briefly. It does not use the frame after
	// it has returned.
	Send func(frame []byte) error
	// Forget is called once, by Close or Abort; nil calls nothing.
	Forget func()
}

// Stream is one end of a stream of bytes over messages: an io.ReadWriteCloser. Each frame has an
// offset from the beginning of its flow: a duplicate frame has no effect, and a lost frame is
// detected. A slow reader blocks only its own stream.
//
// Close ends both directions: the other end reads the bytes that were written before, then io.EOF,
// and cannot write any more. Close ends a concurrent Read and Write.
type Stream struct {
	over  Messages
	in    *Buffer
	out   *Credit
	heard *Heard
	stop  func() // ends the pings
	gone  func()

	writing sync.Mutex // serialises Write
	closed  atomic.Bool
	failed  atomic.Bool
}

// Over returns an end of a stream. The other end must exist already, or keep the frames.
func Over(m Messages) *Stream {
	if m.Forget == nil {
		m.Forget = func() {}
	}
	done := make(chan struct{})
	s := &Stream{over: m, out: NewCredit(window), heard: NewHeard(),
		stop: sync.OnceFunc(func() { close(done) }), gone: sync.OnceFunc(m.Forget)}
	s.in = NewBuffer(window, window/2, func(upTo uint64, _ int) { s.send(frameGrant, upTo, nil) })
	k := Keepalive{Every: pingTime, Lost: lostTime, Always: true}
	go k.Run(done, s.heard, func() { _ = m.Send([]byte{framePing}) }, func() { s.Fail(ErrLost) })
	return s
}

// send sends a frame. Without data an error is ignored: the pings detect a loss.
func (s *Stream) send(kind byte, offset uint64, body []byte) error {
	b := make([]byte, 1, 1+binary.MaxVarintLen64+len(body))
	b[0] = kind
	return s.over.Send(append(binary.AppendUvarint(b, offset), body...))
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	done := 0
	for done < len(p) {
		n, offset, err := s.out.Take(min(len(p)-done, chunk))
		if err != nil {
			return done, err
		}
		if err := s.send(frameData, offset, p[done:done+n]); err != nil {
			s.Fail(fmt.Errorf("%w: %w", ErrLost, err))
			return done, err
		}
		done += n
	}
	return done, nil
}

// Close implements io.Closer. It may be called again.
func (s *Stream) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	defer s.gone()
	defer s.stop()
	s.in.Discard(io.ErrClosedPipe)
	sent := s.out.Close(io.ErrClosedPipe)
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.failed.Load() {
		return nil
	}
	return s.send(frameEnd, sent, nil)
}

// Abort breaks the stream at both ends.
func (s *Stream) Abort(why error) {
	text := why.Error()
	_ = s.over.Send(append([]byte{frameReset}, text[:min(len(text), maxText)]...))
	s.Fail(why)
	s.gone()
}

// Fail ends the stream at this end only. The first error is kept. Bytes that arrived before can
// still be read.
func (s *Stream) Fail(why error) {
	s.stop()
	s.failed.Store(true)
	s.out.Close(why) // before the reader learns of the failure, so that it cannot write afterwards
	s.in.End(why)
}

// Receive handles a frame of the other end, and then owns it. It never waits. A frame that violates
// the protocol breaks the stream.
func (s *Stream) Receive(frame []byte) {
	if len(frame) == 0 {
		return
	}
	if frame[0] == frameReset {
		s.Fail(fmt.Errorf("%w: %.200q", ErrLost, frame[1:]))
		return
	}
	offset, n := binary.Uvarint(frame[1:])
	if frame[0] != framePing && n <= 0 {
		s.Abort(errors.New("cannot read a frame of the stream"))
		return
	}
	if err := s.take(frame[0], offset, frame[1+max(n, 0):]); err != nil {
		s.Abort(fmt.Errorf("%w: %w", ErrLost, err))
	}
}

func (s *Stream) take(kind byte, offset uint64, body []byte) error {
	s.heard.Now()
	switch kind {
	case frameData:
		return s.in.Put(offset, body)
	case frameGrant:
		s.out.Grant(offset)
	case frameEnd:
		if err := s.in.Put(offset, nil); err != nil {
			return err
		}
		s.stop()
		s.out.Close(io.ErrClosedPipe) // before the reader learns of the end, so that it cannot write afterwards
		s.in.End(io.EOF)
	}
	return nil
}
