package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/stream"
)

// ErrLost: the connection ended before the answer. The call may have succeeded
// nevertheless.
var ErrLost = errors.New("the connection was lost")

// maxMessage bounds a call or an answer, in bytes: a plan for 100,000 files has a
// tenth of it.
const maxMessage = 1 << 30

// maxCalls bounds how many calls of the other end are worked at, and how many
// messages come in pieces, at the same time.
const maxCalls = 64

// handler answers one call of the other end. ctx ends when the other end cancels
// the call or the connection is lost.
type handler func(ctx context.Context, c *incoming) (any, error)

// conn is a connection with calls both ways.
type conn struct {
	stream io.ReadWriteCloser
	w      *writer
	handle map[string]handler

	mu    sync.Mutex
	next  uint32
	calls map[uint32]*outgoing // ours that wait for an answer
	work  map[uint32]*incoming // theirs that we work at
	parts map[uint32][]byte    // of messages that come in pieces
	held  int                  // bytes of parts
	most  int                  // of held
	err   error
	heard *stream.Heard

	pong atomic.Bool   // one is being sent
	gone chan struct{} // closed when the connection is lost
	busy sync.WaitGroup
	note func([]byte) // receives notes of the other end; nil discards them
}

// newConn makes a connection whose own calls count from first in steps of two.
func newConn(over io.ReadWriteCloser, first uint32, handle map[string]handler) *conn {
	return &conn{stream: over, w: &writer{to: over}, handle: handle, next: first, most: maxMessage,
		calls: map[uint32]*outgoing{}, work: map[uint32]*incoming{}, parts: map[uint32][]byte{},
		heard: stream.NewHeard(), gone: make(chan struct{})}
}

// outgoing is a call of ours.
type outgoing struct {
	done   chan answer // of one
	events *queue
	data   *stream.Buffer // nil for a call without
	// received is the number of bytes of data that arrived.
	received uint64
}

type answer struct {
	result []byte
	err    error
}

// incoming is a call of the other end.
type incoming struct {
	conn   *conn
	stream uint32
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	cancel context.CancelCauseFunc
	credit *stream.Credit
	events *queue // events to deliver before the answer
	signed bool   // the call was accepted as a signed call
	signer string // the principal of its key, "" for none
}

// params decodes the parameters of the call. Unknown fields are errors.
func (c *incoming) params(into any) error {
	if err := journal.UnmarshalStrict(c.Params, into); err != nil {
		return fmt.Errorf("cannot read the call %q: %w", c.Method, err)
	}
	return nil
}

// run reads frames until the connection ends, and says why it did; nil when the
// other end closed it in good order.
func (c *conn) run(ctx context.Context, r *reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.read(ctx, r) }()
	var err error
	select {
	case err = <-ended:
	case <-c.gone: // a read from a terminal or an old pipe may never return
		err = c.err
	}
	cancel(ErrLost)
	c.lose(err)
	c.busy.Wait()
	if err == io.EOF || err == ErrLost {
		return nil
	}
	return err
}

func (c *conn) read(ctx context.Context, r *reader) error {
	for {
		f, err := r.next()
		if err != nil {
			return err
		}
		c.heard.Now()
		if err := c.take(ctx, f); err != nil {
			return err
		}
	}
}

// take handles a frame. It never blocks on another party.
func (c *conn) take(ctx context.Context, f frame) error {
	switch f.kind {
	case typePing:
		c.answerPing()
		return nil
	case typePong:
		return nil
	case typeData:
		return c.takeData(f)
	case typeGrant, typeCancel:
		c.control(f)
		return nil
	}
	whole, ok, err := c.join(f)
	if err != nil || !ok {
		return err
	}
	if f.kind == typeCall {
		return c.begin(ctx, f.stream, whole)
	}
	return c.answered(f, whole)
}

// join collects the pieces of a message; ok tells that it is whole.
func (c *conn) join(f frame) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	part, begun := c.parts[f.stream]
	if !f.more && !begun {
		return f.payload, true, nil
	}
	if c.held+len(f.payload) > c.most {
		return nil, false, fmt.Errorf("%w: a message above %d bytes", errMalformed, c.most)
	}
	part = append(part, f.payload...)
	if f.more {
		c.parts[f.stream] = part
		c.held += len(f.payload)
		if len(c.parts) > maxCalls {
			return nil, false, fmt.Errorf("%w: too many messages at the same time", errMalformed)
		}
		return nil, false, nil
	}
	delete(c.parts, f.stream)
	c.held -= len(part) - len(f.payload)
	return part, true, nil
}

func (c *conn) begin(ctx context.Context, id uint32, text []byte) error {
	in := &incoming{conn: c, stream: id, credit: stream.NewCredit(windowSize)}
	if err := journal.UnmarshalStrict(text, in); err != nil {
		return fmt.Errorf("%w: a call in an unknown format", errMalformed)
	}
	ctx, in.cancel = context.WithCancelCause(ctx)
	c.mu.Lock()
	_, twice := c.work[id]
	many := len(c.work) >= maxCalls
	if !twice && !many {
		c.work[id] = in
	}
	c.mu.Unlock()
	if twice || many {
		in.cancel(nil)
		return fmt.Errorf("%w: two calls with the same number, or too many calls", errMalformed)
	}
	c.busy.Add(1)
	go c.serve(ctx, in)
	return nil
}

// serve handles one call and sends its answer. The end of the connection does not wait
// for the sending, which can hang permanently if the other end does not read.
func (c *conn) serve(ctx context.Context, in *incoming) {
	result, err := c.answer(ctx, in)
	in.cancel(nil)
	c.mu.Lock()
	delete(c.work, in.stream)
	c.mu.Unlock()
	c.busy.Done()
	kind, text := typeResult, []byte(nil)
	if err == nil {
		text, err = journal.Marshal(result)
	}
	if err != nil {
		kind = typeFault
		text, _ = journal.Marshal(faultOf(err, result)) // a fault has only texts
	}
	in.events.close()
	_ = c.w.sendMessage(kind, in.stream, text)
}

func (c *conn) answer(ctx context.Context, in *incoming) (any, error) {
	h := c.handle[in.Method]
	if h == nil {
		return nil, fmt.Errorf("there is no call %q: the two ends have different versions of fettle", in.Method)
	}
	return h(ctx, in)
}

func (c *conn) answered(f frame, text []byte) error {
	if f.stream == 0 && c.note != nil {
		c.note(text)
		return nil
	}
	c.mu.Lock()
	out := c.calls[f.stream]
	if f.kind != typeEvent {
		delete(c.calls, f.stream)
	}
	c.mu.Unlock()
	if out == nil {
		return nil // an answer to a call without a waiting caller
	}
	switch f.kind {
	case typeEvent:
		if !out.events.put(text) {
			return fmt.Errorf("%w: events arrive faster than they are read", errMalformed)
		}
	case typeFault:
		out.done <- answer{err: errorOf(text), result: text}
	default:
		out.done <- answer{result: text}
	}
	return nil
}

func (c *conn) control(f frame) {
	c.mu.Lock()
	in := c.work[f.stream]
	c.mu.Unlock()
	switch {
	case in == nil:
	case f.kind == typeCancel:
		in.cancel(cancelled{string(f.payload)})
	default:
		in.granted(f.payload)
	}
}

// cancelled is why a call was cancelled by the other end. It is context.Canceled.
type cancelled struct{ why string }

func (c cancelled) Error() string        { return c.why }
func (c cancelled) Is(target error) bool { return target == context.Canceled }

// lose ends every call of ours.
func (c *conn) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = ErrLost
	if err != nil && err != io.EOF {
		c.err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	close(c.gone)
	_ = c.stream.Close()
	for id, out := range c.calls {
		delete(c.calls, id)
		out.done <- answer{err: c.err}
	}
	for _, in := range c.work {
		in.credit.Close(ErrLost)
	}
}

// call asks the other end. show gets its events, in order, from one goroutine, all
// of them before call returns; data gets its content. Either may be nil.
func (c *conn) call(ctx context.Context, method string, params, result any, show func([]byte),
	data func(io.Reader) error) error {
	text, err := journal.Marshal(params)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(&incoming{Method: method, Params: text}); err != nil {
		return err
	}
	out := &outgoing{done: make(chan answer, 1), events: newQueue(show)}
	defer out.events.close()
	id, err := c.register(out, data != nil)
	if err != nil {
		return err
	}
	if err := c.w.sendMessage(typeCall, id, text); err != nil {
		c.forget(id)
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if data != nil {
		return c.receive(ctx, id, out, result, data)
	}
	return c.await(ctx, id, out, result)
}

// await waits for the answer. When ctx ends, it requests the other end to stop and
// continues to wait: the call ends in an orderly way and returns its result.
func (c *conn) await(ctx context.Context, id uint32, out *outgoing, result any) error {
	asked := ctx.Done()
	for {
		select {
		case a := <-out.done:
			return a.into(result)
		case <-asked:
			asked = nil
			_ = c.w.send(frame{kind: typeCancel, stream: id, payload: []byte(cause(ctx))})
		}
	}
}

func cause(ctx context.Context) string {
	text := context.Cause(ctx).Error()
	return text[:min(len(text), 1024)]
}

func (a answer) into(result any) error {
	if a.err != nil {
		var f *remoteError
		if errors.As(a.err, &f) && f.result != nil && result != nil {
			return errors.Join(a.err, journal.UnmarshalStrict(f.result, result))
		}
		return a.err
	}
	if result == nil {
		return nil
	}
	if err := journal.UnmarshalStrict(a.result, result); err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	return nil
}

func (c *conn) register(out *outgoing, content bool) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	id := c.next
	c.next += 2
	if content {
		out.data = c.newInbox(id)
	}
	c.calls[id] = out
	return id, nil
}

func (c *conn) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}
