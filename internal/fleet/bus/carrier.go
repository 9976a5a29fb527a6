package bus

import "fettle.dev/fettle/internal/fleet/bus/agentconn"

// Message is what comes from a bus of subjects.
type Message = agentconn.Message

// subjects is what may be said and heard. Its methods may be called from any goroutine.
type subjects interface {
	// Send gives a message to all who hear the subject. With a reply the answer, or a
	// message that says Nobody, comes there. It may block for a moment, and keeps the
	// body only until it returns.
	Send(subject, reply string, body []byte) error
	// Receive calls each for what comes under a subject, in which * is one part and >
	// all the rest: in the order of its sender, and for several senders perhaps at once.
	// Of those who give the same group, "" being none, one gets each message. When it
	// returns, what is sent from then on comes.
	Receive(subject, group string, each func(Message)) error
}

// Carrier is a bus of subjects, as one end has it: what links and exchanges are built of.
// Its methods may be called from any goroutine.
type Carrier interface {
	subjects
	// Place is the hub that it belongs to, and the number that it has there, if any.
	Place() (server string, connection uint64)
}

// Connection is the Carrier of a link, and ends.
type Connection interface {
	Carrier
	Close()
}
