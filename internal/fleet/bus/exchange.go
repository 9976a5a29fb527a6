package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// handleTime limits how long a hub handles a request of an agent.
const handleTime = time.Minute

// Exchange is the hub's end of the links to all agents. It implements fleet.Exchange with any
// Carrier that restricts each agent to its own subjects. Server.Exchange returns one.
type Exchange struct {
	carrier Carrier
	kick    func(connection uint64)
	self    string // the part of subjects that identifies this hub
	ctx     context.Context
	calls   *calls
	streams *streams
	members *members
	gate    *requestLimiter
	broke   func(id fleet.TargetID, why string) // nil ignores violations
	relay   *relay                              // reaches the agents of other hubs; nil if the carrier reaches them

	mu     sync.Mutex
	served map[string]bool
}

var _ fleet.Exchange = (*Exchange)(nil)

// NewExchange returns an exchange over a carrier without restrictions. The owner of the bus must
// call Admit and Gone for each connection that begins and ends. kick ends a connection; Admit may
// call it. When ctx ends, the streams and the contexts of the handlers end.
func NewExchange(ctx context.Context, c Carrier, kick func(connection uint64)) (*Exchange, error) {
	x := &Exchange{
		carrier: c, kick: kick, self: newToken(), ctx: ctx,
		calls: newCalls(), streams: newStreams(maxHubStreams), members: newMembers(), gate: newRequestLimiter(),
		served: map[string]bool{},
	}
	context.AfterFunc(ctx, func() { x.streams.failAll(ErrLost) })
	return x, errors.Join(
		c.Receive("f.*.up.r."+x.self+".*", "", x.answered),
		c.Receive("f.*.up.d."+x.self+".*", "", x.frame),
		c.Receive("f.*.up.here", "", x.arrived),
	)
}

// Admit records a connection of a target. It must be called before any message of the connection.
// If the target has too many connections, the oldest ones are kicked.
func (x *Exchange) Admit(id fleet.TargetID, connection uint64) {
	for _, old := range x.members.admit(id, connection) {
		x.kick(old)
	}
}

// Gone records that a connection ended. No message of it may follow. An unknown connection is
// ignored.
func (x *Exchange) Gone(connection uint64) {
	if id, last := x.members.gone(connection); last {
		x.calls.lost(string(id))
		x.streams.failOf(string(id), ErrLost)
	}
}

// arrived records that a connection of the sender receives messages. A message about a connection
// of another target has no effect.
func (x *Exchange) arrived(m Message) {
	id, _, ok := senderOf(m.Subject)
	var server string
	var connection uint64
	n, err := fmt.Sscanf(string(m.Body), "%s %d", &server, &connection)
	if place, _ := x.carrier.Place(); ok && err == nil && n == 2 && server == place {
		x.members.arrived(id, connection)
	}
}

func (x *Exchange) answered(m Message) {
	parts := strings.Split(m.Subject, ".")
	x.calls.answered(parts[1], parts[len(parts)-1], m)
}

func (x *Exchange) frame(m Message) {
	if id, _, ok := senderOf(m.Subject); ok {
		x.streams.frame(string(id), lastOf(m.Subject), m.Body)
	}
}

// Serve implements fleet.Exchange. Each message type can be served once. An agent that exceeds the limit of
// concurrent requests receives an error; its notifications are dropped.
func (x *Exchange) Serve(messageType string, handle func(ctx context.Context, from fleet.TargetID,
	body []byte) ([]byte, error)) error {
	if err := checkWord(messageType); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.served[messageType] {
		return fmt.Errorf("cannot add a second handler of %s requests", messageType)
	}
	x.served[messageType] = true
	return x.carrier.Receive("f.*.up.q."+messageType, "hubs", func(m Message) { x.question(m, handle) })
}

func (x *Exchange) question(m Message, handle func(context.Context, fleet.TargetID, []byte) ([]byte, error)) {
	id, _, ok := senderOf(m.Subject)
	if !ok {
		return
	}
	if m.Reply != "" && !mayAnswer(id, m.Reply) {
		x.broken(id, "its request has a reply subject of another target")
		return
	}
	x.members.spoke(id)
	if !x.gate.enter(id, len(m.Body)) {
		x.broken(id, "it sent more concurrent requests than a hub accepts")
		x.reply(m, nil, errors.New(
			"cannot accept more concurrent requests of this target: retry when earlier requests have been answered"))
		return
	}
	go func() {
		defer x.gate.leave(id, len(m.Body))
		ctx, cancel := context.WithTimeout(x.ctx, handleTime)
		defer cancel()
		body, err := handle(ctx, id, m.Body)
		if err == nil && !x.gate.answers(id, len(body), time.Now()) {
			body, err = nil, errors.New("cannot send more answers to this target at once: retry in a few seconds")
		}
		x.reply(m, body, err)
	}()
}

func (x *Exchange) broken(id fleet.TargetID, why string) {
	if x.broke != nil {
		x.broke(id, why)
	}
}

// reply sends an answer. If it is lost, the requester asks again.
func (x *Exchange) reply(m Message, body []byte, err error) {
	if m.Reply != "" {
		_ = x.carrier.Send(m.Reply, "", packAnswer(body, err))
	}
}

// Ask implements fleet.Exchange. If ctx has no deadline, it waits for a minute.
func (x *Exchange) Ask(ctx context.Context, to fleet.TargetID, messageType string, body []byte) ([]byte, error) {
	return x.ask(ctx, to, "q."+messageType, messageType, body)
}

func (x *Exchange) ask(ctx context.Context, to fleet.TargetID, rest, messageType string, body []byte) ([]byte, error) {
	if err := checkDown(to, messageType, body); err != nil {
		return nil, err
	}
	ctx, cancel := withAskTime(ctx)
	defer cancel()
	number, answer, end := x.calls.begin(string(to))
	defer end()
	if err := x.send(to, Message{Subject: downOf(to, rest), Reply: upOf(to, "r."+x.self+"."+number),
		Body: body}); err != nil {
		return nil, fmt.Errorf("cannot send a request to %s: %w", to, err)
	}
	return wait(ctx, answer, fleet.ErrOffline)
}

// send sends a message to an agent, directly or through its hub.
func (x *Exchange) send(to fleet.TargetID, m Message) error {
	if x.relay != nil && !x.IsConnected(to) {
		if hub := x.relay.hubOf(to); hub != "" {
			return x.relay.pass(hub, m)
		}
	}
	return x.carrier.Send(m.Subject, m.Reply, m.Body)
}

// Tell implements fleet.Exchange.
func (x *Exchange) Tell(to fleet.TargetID, messageType string, body []byte) error {
	if err := checkDown(to, messageType, body); err != nil {
		return err
	}
	return x.send(to, Message{Subject: downOf(to, "q."+messageType), Body: body})
}

func checkDown(to fleet.TargetID, messageType string, body []byte) error {
	_, err := fleet.ParseTargetID(string(to))
	return errors.Join(err, checkWord(messageType), checkSize(body))
}

func checkSize(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("cannot send %d bytes at once: the maximum is %d", len(body), MaxBody)
	}
	return nil
}

// Open implements fleet.Exchange. ctx limits only the opening. The error is ErrOffline also if the
// agent does not serve streams of this type.
func (x *Exchange) Open(ctx context.Context, to fleet.TargetID, messageType string,
	header []byte) (io.ReadWriteCloser, error) {
	sid := newToken()
	s, err := x.streams.begin(string(to), sid, func(frame []byte) error {
		return x.send(to, Message{Subject: downOf(to, "d."+sid), Body: frame})
	})
	if err != nil {
		return nil, err
	}
	if _, err := x.ask(ctx, to, "s."+messageType, messageType, packOpen(x.self, sid, header)); err != nil {
		s.Abort(err)
		return nil, err
	}
	return s, nil
}

// Connected implements fleet.Exchange. The result is sorted.
func (x *Exchange) Connected() []fleet.TargetID { return x.members.list() }

// IsConnected implements fleet.Exchange.
func (x *Exchange) IsConnected(id fleet.TargetID) bool {
	x.members.mu.Lock()
	defer x.members.mu.Unlock()
	return x.members.here(id)
}

// Presence implements fleet.Exchange. Calls of each are in order and never concurrent.
func (x *Exchange) Presence(each func(id fleet.TargetID, here bool)) { x.members.watch(each) }

// Kick implements fleet.Exchange. A target with a valid certificate reconnects.
func (x *Exchange) Kick(id fleet.TargetID) {
	for _, c := range x.members.connections(id) {
		x.kick(c)
	}
}
