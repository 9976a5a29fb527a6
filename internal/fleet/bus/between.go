package bus

import (
	"encoding/binary"
	"sync"
)

// between carries what hubs say to each other: numbered, so that nobody can say it a second
// time, and over the bus of others sealed for its subject. Those who hear it are hubs of the
// fleet; replies it has none.
type between struct {
	over   subjects
	prefix string
	seal   *seal  // nil where the bus is that of the hubs themselves
	self   string // of this process: numbers begin anew with it

	mu   sync.Mutex
	sent map[string]uint64 // by subject
	last map[string]uint64 // heard, by sender and subject; of those who are gone too, for who recorded them
}

func newBetween(over subjects, prefix string, s *seal) *between {
	return &between{over: over, prefix: prefix, seal: s, self: newToken(), sent: map[string]uint64{}, last: map[string]uint64{}}
}

// send says something below the prefix. One after the other, so that numbers come in order.
func (b *between) send(subject string, body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent[subject]++
	number := binary.AppendUvarint(nil, b.sent[subject])
	return b.over.Send(b.prefix+subject, "", b.seal.close(b.prefix+subject, parts([]byte(b.self), number, body)))
}

// receive calls each with what other hubs say, and drops all that is not theirs.
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
