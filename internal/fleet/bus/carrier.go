package bus

import "fettle.dev/fettle/internal/fleet/bus/agentconn"

// Message is a message on a bus of subjects.
type Message = agentconn.Message

// subjects publishes and subscribes on a bus. Its methods may be called from any goroutine.
type subjects interface {
	// Send delivers a message to all subscribers of the subject. If reply is not empty, the answer
	// is sent to that subject. If there is no subscriber, that subject receives a message with
	// Nobody set. Send may block briefly. It does not use the body after it has returned.
	Send(subject, reply string, body []byte) error
	// Receive calls each for each message of a subject. In the subject, * matches one part and >
	// matches all following parts. Messages of one sender arrive in order; messages of several
	// senders can arrive concurrently. Of the subscribers with the same group, only one receives a
	// message; "" means no group. Messages that are sent after Receive has returned are delivered.
	Receive(subject, group string, each func(Message)) error
}

// Carrier is one end's access to a bus of subjects. Links and exchanges use it. Its methods may be
// called from any goroutine.
type Carrier interface {
	subjects
	// Place returns the hub that this end is connected to, and the number of the connection at that
	// hub, if it has one.
	Place() (server string, connection uint64)
}

// Connection is the Carrier of a link. It can be closed.
type Connection interface {
	Carrier
	Close()
}
