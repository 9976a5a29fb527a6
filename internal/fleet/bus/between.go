package bus

import (
	"encoding/binary"
	"sync"
)

// between sends messages from hub to hub. Each message has a number, so that an attacker cannot
// replay it. On a NATS cluster that others run, each message is also sealed for its subject. All
// receivers are hubs of the fleet. Messages have no replies.
type between struct {
	over   subjects
	prefix string
	seal   *seal  // nil if the hubs run the bus themselves
	self   string // identifies this process; its numbers start at 1

	mu   sync.Mutex
	sent map[string]uint64 // the last number, by subject
	// last is the last number received, by sender and subject. Entries are kept after a sender has
	// gone, against replays.
	last map[string]uint64
}

func newBetween(over subjects, prefix string, s *seal) *between {
	return &between{over: over, prefix: prefix, seal: s, self: newToken(), sent: map[string]uint64{},
		last: map[string]uint64{}}
}

// send sends a message below the prefix. It holds the lock, so that messages are sent in the order
// of their numbers.
func (b *between) send(subject string, body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent[subject]++
	number := binary.AppendUvarint(nil, b.sent[subject])
	return b.over.Send(b.prefix+subject, "", b.seal.close(b.prefix+subject, parts([]byte(b.self), number, body)))
}

// receive calls each for each message of other hubs. It drops messages that cannot be opened,
// replayed messages, and the messages of this process.
func (b *between) receive(subject string, each func(from string, body []byte)) error {
	return b.over.Receive(b.prefix+subject, "", func(m Message) {
		if from, body, ok := b.heard(m); ok {
			each(from, body)
		}
	})
}

func (b *between) heard(m Message) (from string, body []byte, ok bool) {
	plain, err := b.seal.open(m.Subject, m.Body)
	if err != nil {
		return "", nil, false
	}
	said, err := records(plain)
	if err != nil || len(said) != 3 {
		return "", nil, false
	}
	from = string(said[0])
	number, n := binary.Uvarint(said[1])
	if n <= 0 || from == b.self {
		return "", nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := from + " " + m.Subject
	if number <= b.last[key] {
		return "", nil, false
	}
	b.last[key] = number
	return from, said[2], true
}
