package bus

// Message is what comes from a bus of subjects.
type Message struct {
	Subject string
	Reply   string // where the sender hears an answer, "" where it does not
	Body    []byte // the receiver's
	// Nobody says that this is no answer: nobody hears the subject of the question.
	Nobody bool
}

// Carrier is one connection to a bus of subjects: the little of NATS that links and
// exchanges are built of. Its methods may be called from any goroutine.
type Carrier interface {
	// Send gives a message to all who hear the subject. With a reply the answer, or a
	// message that says Nobody, comes there. It may block for a moment, and keeps the
	// body only until it returns.
	Send(subject, reply string, body []byte) error
	// Receive calls each for what comes under a subject, in which * is one part and >
	// all the rest: in the order of its sender, and one call after the other. Of those
	// who give the same group, "" being none, one gets each message. When it returns,
	// what is sent from then on comes.
	Receive(subject, group string, each func(Message)) error
	// Place is the server that it is connected to, and the number that it has there.
	Place() (server string, connection uint64)
	Close()
}
