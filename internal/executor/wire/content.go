package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// windowSize is how many bytes of content may be under way on one stream: enough
// for a line of 50 MB/s and 80 ms.
const windowSize = 4 << 20

// window is how much the other end still takes of a stream that we fill.
type window struct {
	mu    sync.Mutex
	more  *sync.Cond
	left  int
	ended bool
}

func newWindow() *window {
	w := &window{left: windowSize}
	w.more = sync.NewCond(&w.mu)
	return w
}

func (w *window) open(payload []byte) {
	if len(payload) != 4 {
		return
	}
	w.mu.Lock()
	w.left = min(w.left+int(binary.BigEndian.Uint32(payload)), windowSize)
	w.mu.Unlock()
	w.more.Broadcast()
}

func (w *window) close() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.more.Broadcast()
}

// take waits for room and takes at most n of it; 0 if there is no reader any longer.
func (w *window) take(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.left == 0 && !w.ended {
		w.more.Wait()
	}
	if w.ended {
		return 0
	}
	n = min(n, w.left)
	w.left -= n
	return n
}

// Write sends content of the call, in pieces that the other end has room for.
func (c *incoming) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n := c.window.take(min(len(p)-done, maxFrame))
		if n == 0 {
			return done, ErrLost
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
	return context.AfterFunc(ctx, c.window.close)
}

func grantOf(stream uint32, n int) frame {
	return frame{kind: typeGrant, stream: stream, payload: binary.BigEndian.AppendUint32(nil, uint32(n))}
}

// inbox holds content of a call of ours until it is read. It never holds more than
// a window.
type inbox struct {
	mu    sync.Mutex
	more  *sync.Cond
	held  [][]byte
	size  int
	freed int // read since the last grant
	ended error
	grant func(int)
}

func newInbox(grant func(int)) *inbox {
	b := &inbox{grant: grant}
	b.more = sync.NewCond(&b.mu)
	return b
}

func (b *inbox) put(p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+len(p) > windowSize {
		return fmt.Errorf("%w: more content than the buffer can store", errMalformed)
	}
	if b.ended == nil && len(p) > 0 {
		b.held, b.size = append(b.held, p), b.size+len(p)
		b.more.Signal()
	}
	return nil
}

// end makes Read return err after all buffered data is read.
func (b *inbox) end(err error) {
	b.mu.Lock()
	if b.ended == nil {
		b.ended = err
	}
	b.mu.Unlock()
	b.more.Broadcast()
}

// Read implements io.Reader.
func (b *inbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	for len(b.held) == 0 && b.ended == nil {
		b.more.Wait()
	}
	if len(b.held) == 0 {
		defer b.mu.Unlock()
		return 0, b.ended
	}
	n := copy(p, b.held[0])
	if b.held[0] = b.held[0][n:]; len(b.held[0]) == 0 {
		b.held = b.held[1:]
	}
	b.size -= n
	b.freed += n
	freed := 0
	if b.freed >= windowSize/4 {
		freed, b.freed = b.freed, 0
	}
	b.mu.Unlock()
	if freed > 0 {
		b.grant(freed)
	}
	return n, nil
}

func (c *conn) takeData(f frame) error {
	c.mu.Lock()
	out := c.calls[f.stream]
	c.mu.Unlock()
	if out == nil || out.data == nil {
		return nil
	}
	return out.data.put(f.payload)
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
		out.data.end(end)
		ended <- err
	}()
	err := read(out.data)
	if err != nil {
		out.data.end(err)
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
