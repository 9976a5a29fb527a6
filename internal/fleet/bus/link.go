package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// maxHandled is the number of requests of hubs that an agent handles at once.
const maxHandled = 64

// Dialer makes one attempt to connect to a hub. lost is closed when the connection ends, at either
// end.
type Dialer func(ctx context.Context) (c Connection, lost <-chan struct{}, err error)

// Link is the agent's end of the connection to its hubs, a fleet.Link. It connects, and reconnects,
// in the background until it is closed.
type Link struct {
	id      fleet.TargetID
	self    string
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	calls   *calls
	streams *streams
	slots   chan struct{}

	mu      sync.Mutex
	now     *session // nil while there is no connection
	handle  map[string]func(context.Context, []byte) ([]byte, error)
	take    map[string]func(context.Context, []byte, io.ReadWriteCloser)
	changes []func(bool)
}

// session is one connection from its beginning to its end.
type session struct {
	carrier Carrier
	ctx     context.Context
	leave   context.CancelFunc // ends the connection
}

var _ fleet.Link = (*Link)(nil)

// NewLink creates the link of a target over the connections of dial. It returns at once. The link
// closes when ctx ends.
func NewLink(ctx context.Context, id fleet.TargetID, dial Dialer, b Backoff) *Link {
	ctx, cancel := context.WithCancel(ctx)
	l := &Link{
		id: id, self: newToken(), ctx: ctx, cancel: cancel, done: make(chan struct{}),
		calls: newCalls(), streams: newStreams(maxLinkStreams), slots: make(chan struct{}, maxHandled),
		handle: map[string]func(context.Context, []byte) ([]byte, error){},
		take:   map[string]func(context.Context, []byte, io.ReadWriteCloser){},
	}
	go l.run(dial, b)
	return l
}

// Close ends the connection, and waits until it has ended.
func (l *Link) Close() error {
	l.cancel()
	<-l.done
	return nil
}

// Reconnect ends the current connection, if there is one. The link connects again after a random part of the
// shortest backoff. Streams end, and so do requests without an answer.
func (l *Link) Reconnect() {
	if s, err := l.session(); err == nil {
		s.leave()
	}
}

// run reconnects until the link closes. A connection that ended soon counts as a failed attempt, unless
// Reconnect ended it. Two hosts with the same identity therefore do not replace each other in a busy loop.
func (l *Link) run(dial Dialer, b Backoff) {
	defer close(l.done)
	for attempt := 0; l.ctx.Err() == nil; attempt++ {
		c, lost, err := dial(l.ctx)
		if err == nil {
			long := b.longEnough()
			if moves := l.serve(c, lost); moves || long() {
				attempt = 0
			}
		}
		b.sleep(l.ctx, attempt)
	}
}

// serve uses one connection until it ends. It returns true if Reconnect ended it.
func (l *Link) serve(c Connection, lost <-chan struct{}) (moves bool) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	defer c.Close()
	defer cancel(fleet.ErrNoHub)
	s := &session{carrier: c, ctx: ctx, leave: func() { cancel(fleet.ErrNoHub) }}
	server, connection := c.Place()
	err := errors.Join(
		c.Receive(downOf(l.id, ">"), "", func(m Message) { l.heard(s, m) }),
		c.Send(upOf(l.id, "here"), "", fmt.Appendf(nil, "%s %d", server, connection)),
	)
	if err != nil {
		return false
	}
	l.become(s)
	select {
	case <-lost:
	case <-ctx.Done():
		moves = true
	}
	cancel(fleet.ErrNoHub)
	l.become(nil)
	l.streams.failAll(ErrLost)
	return moves
}

// become reports that a connection began or ended.
func (l *Link) become(s *session) {
	l.mu.Lock()
	l.now = s
	changes := l.changes
	l.mu.Unlock()
	for _, each := range changes {
		each(s != nil)
	}
}

func (l *Link) session() (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return nil, fleet.ErrNoHub
	}
	return l.now, nil
}

// Changes implements fleet.Link. each is called from the goroutine that connects, in order, and
// must not take long. If a connection exists already, Changes calls each at once.
func (l *Link) Changes(each func(up bool)) {
	l.mu.Lock()
	l.changes = append(l.changes, each)
	up := l.now != nil
	l.mu.Unlock()
	if up {
		each(true)
	}
}

// Ask implements fleet.Link. It fails at once without a connection, and when the connection ends.
// If ctx has no deadline, it waits for a minute.
func (l *Link) Ask(ctx context.Context, messageType string, body []byte) ([]byte, error) {
	if err := errors.Join(checkWord(messageType), checkSize(body)); err != nil {
		return nil, err
	}
	s, err := l.session()
	if err != nil {
		return nil, err
	}
	ctx, cancel := withAskTime(ctx)
	defer cancel()
	number, answer, end := l.calls.begin("")
	defer end()
	if err := s.carrier.Send(upOf(l.id, "q."+messageType), inboxOf(l.id)+l.self+"."+number, body); err != nil {
		return nil, fmt.Errorf("cannot send a request to a hub: %w: %w", fleet.ErrNoHub, err)
	}
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.ctx, func() { stop(context.Cause(s.ctx)) })()
	return wait(both, answer, fleet.ErrNoHub)
}

// Tell implements fleet.Link.
func (l *Link) Tell(messageType string, body []byte) error {
	if err := errors.Join(checkWord(messageType), checkSize(body)); err != nil {
		return err
	}
	s, err := l.session()
	if err != nil {
		return err
	}
	return s.carrier.Send(upOf(l.id, "q."+messageType), "", body)
}

// Serve implements fleet.Link. The context of the handler ends with the link, not with the
// connection.
func (l *Link) Serve(messageType string, handle func(ctx context.Context, body []byte) ([]byte, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle[messageType] != nil {
		return fmt.Errorf("cannot add a second handler of %s requests", messageType)
	}
	l.handle[messageType] = handle
	return checkWord(messageType)
}

// ServeStreams implements fleet.Link. The context of the handler ends with the link. The stream
// ends with the connection, and is closed when the handler returns.
func (l *Link) ServeStreams(messageType string,
	handle func(ctx context.Context, header []byte, stream io.ReadWriteCloser)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.take[messageType] != nil {
		return fmt.Errorf("cannot add a second handler of %s streams", messageType)
	}
	l.take[messageType] = handle
	return checkWord(messageType)
}

// heard dispatches a message of a hub.
func (l *Link) heard(s *session, m Message) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(m.Subject, downOf(l.id, "")), ".")
	switch kind {
	case "q":
		l.asked(s, rest, m)
	case "s":
		l.opened(s, rest, m)
	case "r":
		if number, ok := strings.CutPrefix(rest, l.self+"."); ok {
			l.calls.answered("", number, m)
		}
	case "d":
		l.streams.frame("", rest, m.Body)
	}
}

func (s *session) reply(m Message, body []byte, err error) {
	if m.Reply != "" {
		_ = s.carrier.Send(m.Reply, "", packAnswer(body, err)) // if the answer is lost, the requester asks again
	}
}

// asked handles a request in a goroutine of its own.
func (l *Link) asked(s *session, messageType string, m Message) {
	l.mu.Lock()
	handle := l.handle[messageType]
	l.mu.Unlock()
	if handle == nil {
		s.reply(m, nil, fmt.Errorf("cannot answer %.40q: %w for such requests", messageType, fleet.ErrOffline))
		return
	}
	l.begin(s, m, func() {
		body, err := handle(l.ctx, m.Body)
		s.reply(m, body, err)
	})
}

// opened accepts a stream. It answers the hub before it starts the handler.
func (l *Link) opened(s *session, messageType string, m Message) {
	l.mu.Lock()
	handle := l.take[messageType]
	l.mu.Unlock()
	hub, sid, header, err := parseOpen(m.Body)
	if handle == nil && err == nil {
		err = fmt.Errorf("cannot open a stream for %.40q: %w for such streams", messageType, fleet.ErrOffline)
	}
	if err != nil {
		s.reply(m, nil, err)
		return
	}
	st, err := l.streams.begin("", sid, func(frame []byte) error {
		return s.carrier.Send(upOf(l.id, "d."+hub+"."+sid), "", frame)
	})
	s.reply(m, nil, err)
	if err != nil {
		return
	}
	go func() {
		defer st.Close()
		handle(l.ctx, header, st)
	}()
}

func (l *Link) begin(s *session, m Message, do func()) {
	select {
	case l.slots <- struct{}{}:
	default:
		s.reply(m, nil, errors.New("cannot accept more concurrent requests: retry later"))
		return
	}
	go func() {
		defer func() { <-l.slots }()
		do()
	}()
}
