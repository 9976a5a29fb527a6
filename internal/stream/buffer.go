package stream

import (
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrMissing means that bytes of a flow were lost.
	ErrMissing = errors.New("bytes of the stream are missing")
	// ErrNoCredit means that the other end sent more than was granted.
	ErrNoCredit = errors.New("the other end sent more than was granted")
)

// piece is the minimum size of the memory for received bytes. Smaller parts are collected: many
// parts of one byte would otherwise need many times the memory that was granted.
const piece = 2 << 10

// Buffer has received bytes until they are read, and grants the sender more bytes as they are read.
// It never has more bytes than were granted.
type Buffer struct {
	mu       sync.Mutex
	changed  sync.Cond
	parts    [][]byte
	received uint64 // bytes, since the beginning
	read     uint64
	granted  uint64
	ended    error
	window   uint64
	every    uint64
	grant    func(upTo uint64, more int)
}

// NewBuffer returns a buffer for a sender that has a credit of window bytes. After that many bytes
// (every) were read since the last grant, Read calls grant. upTo is the new limit since the
// beginning of the flow, and more is its difference from the previous limit.
func NewBuffer(window, every int, grant func(upTo uint64, more int)) *Buffer {
	b := &Buffer{granted: uint64(window), window: uint64(window), every: uint64(every), grant: grant}
	b.changed.L = &b.mu
	return b
}

// Put appends the bytes at an offset of the flow, and then owns them. Bytes that were received before
// have no effect. If earlier bytes are missing, the error is ErrMissing.
func (b *Buffer) Put(offset uint64, p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended != nil || offset < b.received:
		return nil
	case offset > b.received:
		return fmt.Errorf("%w: %d before offset %d", ErrMissing, offset-b.received, offset)
	case uint64(len(p)) > b.granted-b.received:
		return ErrNoCredit
	}
	b.received += uint64(len(p))
	b.keep(p)
	b.changed.Broadcast()
	return nil
}

// keep must be called with the lock held.
func (b *Buffer) keep(p []byte) {
	if len(p) >= piece {
		b.parts = append(b.parts, p)
		return
	}
	if n := len(b.parts); n > 0 && cap(b.parts[n-1])-len(b.parts[n-1]) >= len(p) {
		b.parts[n-1] = append(b.parts[n-1], p...)
	} else if len(p) > 0 {
		b.parts = append(b.parts, append(make([]byte, 0, piece), p...))
	}
}

// End lets Read return err after the received bytes. The first error is kept. Bytes that arrive
// later are discarded.
func (b *Buffer) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.ended = err
	}
	b.changed.Broadcast()
}

// Discard lets Read return err at once.
func (b *Buffer) Discard(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts, b.ended = nil, err
	b.changed.Broadcast()
}

// Read implements io.Reader.
func (b *Buffer) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b.mu.Lock()
	for len(b.parts) == 0 && b.ended == nil {
		b.changed.Wait()
	}
	if len(b.parts) == 0 {
		defer b.mu.Unlock()
		return 0, b.ended
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; len(b.parts[0]) == 0 {
		b.parts = b.parts[1:]
	}
	upTo, more := b.freed(n)
	b.mu.Unlock()
	if more > 0 {
		b.grant(upTo, more)
	}
	return n, nil
}

// freed counts read bytes, and returns a grant; more is 0 for none. It must be called with the lock
// held.
func (b *Buffer) freed(n int) (upTo uint64, more int) {
	b.read += uint64(n)
	if b.ended != nil || b.read+b.window-b.granted < b.every {
		return 0, 0
	}
	more = int(b.read + b.window - b.granted)
	b.granted = b.read + b.window
	return b.granted, more
}
