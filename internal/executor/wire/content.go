package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"fettle.dev/fettle/internal/stream"
)

// windowSize is how many bytes of content may be under way on one stream: enough
// for a line of 50 MB/s and 80 ms.
const windowSize = 4 << 20

// Write sends content of the call, in pieces that the other end has room for.
func (c *incoming) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, _, err := c.credit.Take(min(len(p)-done, maxFrame))
		if err != nil {
			return done, err
		}
		if err := c.conn.w.send(frame{kind: typeData, stream: c.stream, payload: p[done : done+n]}); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// stopWriting ends a Write that waits when ctx ends.
func (c *incoming) stopWriting(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.credit.Close(ErrLost) })
}

// granted handles a grant of the other end.
func (c *incoming) granted(payload []byte) {
	if len(payload) == 4 {
		c.credit.Add(int(binary.BigEndian.Uint32(payload)), windowSize)
	}
}

// newInbox returns the buffer for the content of a call of ours.
func (c *conn) newInbox(id uint32) *stream.Buffer {
	return stream.NewBuffer(windowSize, windowSize/4, func(_ uint64, n int) { _ = c.w.send(grantOf(id, n)) })
}

func grantOf(stream uint32, n int) frame {
	return frame{kind: typeGrant, stream: stream, payload: binary.BigEndian.AppendUint32(nil, uint32(n))}
}

func (c *conn) takeData(f frame) error {
	c.mu.Lock()
	out := c.calls[f.stream]
	c.mu.Unlock()
	if out == nil || out.data == nil {
		return nil
	}
	if err := out.data.Put(out.received, f.payload); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	out.received += uint64(len(f.payload))
	return nil
}

// receive reads the content of a call while it arrives. The answer follows it.
func (c *conn) receive(ctx context.Context, id uint32, out *outgoing, result any, read func(io.Reader) error) error {
	ended := make(chan error, 1)
	go func() {
		err := c.await(ctx, id, out, result)
		end := err
		if end == nil {
			end = io.EOF
		}
		out.data.End(end)
		ended <- err
	}()
	err := read(out.data)
	if err != nil {
		out.data.End(err)
		_ = c.w.send(frame{kind: typeCancel, stream: id, payload: []byte("the reader has stopped")})
	}
	if answer := <-ended; err == nil {
		err = answer
	}
	return err
}

// maxQueue is the maximum size of undelivered events, in bytes.
const maxQueue = 64 << 20

// queue hands events on, in order, without ever making the one who puts them wait.
type queue struct {
	mu    sync.Mutex
	more  *sync.Cond
	held  [][]byte
	size  int // bytes held
	ended bool
	done  chan struct{}
}

// newQueue returns nil if show is nil. A nil queue discards all events.
func newQueue(show func([]byte)) *queue {
	if show == nil {
		return nil
	}
	q := &queue{done: make(chan struct{})}
	q.more = sync.NewCond(&q.mu)
	go q.pump(show)
	return q
}

func (q *queue) pump(show func([]byte)) {
	defer close(q.done)
	for {
		q.mu.Lock()
		for len(q.held) == 0 && !q.ended {
			q.more.Wait()
		}
		batch := q.held
		q.held, q.size = nil, 0
		q.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, text := range batch {
			show(text)
		}
	}
}

// put tells whether there was room.
func (q *queue) put(text []byte) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(text) > maxQueue {
		return false
	}
	q.held, q.size = append(q.held, text), q.size+len(text)
	q.more.Signal()
	return true
}

// close waits until all was shown.
func (q *queue) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.more.Signal()
	<-q.done
}
