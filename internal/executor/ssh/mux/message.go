package mux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// version is the version of the protocol.
const version = 4

// kind is the type of a message.
type kind uint32

const (
	kindHello      kind = 0x00000001
	kindNewSession kind = 0x10000002
	kindDenied     kind = 0x80000002
	kindFailed     kind = 0x80000003
	kindEnded      kind = 0x80000004
	kindOpened     kind = 0x80000006
)

const (
	maxReply   = 16 << 10  // maximum length of a message from the master, in bytes
	maxRequest = 200 << 10 // a master takes 256 KiB
)

// message is a message from the master.
type message struct {
	kind kind
	// id is the version of a hello, the session of an end, and the request that
	// is answered otherwise.
	id     uint32
	value  uint32 // the session of an opened message, the exit code of an ended message
	reason string // the reason of a failed or denied message
}

var errMalformed = errors.New("the message does not follow the multiplexing protocol of OpenSSH")

// read takes one message from a stream, and no byte more.
func read(r io.Reader) (message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return message{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 4 || n > maxReply {
		return message{}, fmt.Errorf("%w: it has %d bytes", errMalformed, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return message{}, err
	}
	return parse(body)
}

// parse reads the body of a message, all of it.
func parse(body []byte) (message, error) {
	b := fields{rest: body}
	m := message{kind: kind(b.number()), id: b.number()}
	switch m.kind {
	case kindHello:
		for !b.bad && len(b.rest) > 0 { // extensions, of which none is known
			_, _ = b.text(), b.text()
		}
	case kindOpened, kindEnded:
		m.value = b.number()
	case kindDenied, kindFailed:
		m.reason = b.text()
	default:
		return message{}, fmt.Errorf("%w: it is of kind %#x", errMalformed, uint32(m.kind))
	}
	if b.bad || len(b.rest) > 0 {
		return message{}, fmt.Errorf("%w: kind %#x in %d bytes", errMalformed, uint32(m.kind), len(body))
	}
	return m, nil
}

// fields takes the fields of a message, one after another. It is bad once one was not
// there.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) take(n uint32) []byte {
	if f.bad || uint64(n) > uint64(len(f.rest)) {
		f.bad = true
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) number() uint32 {
	b := f.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (f *fields) text() string { return string(f.take(f.number())) }

// hello begins a conversation.
func hello() []byte {
	return framed(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(kindHello)), version))
}

// newSession asks for a session without a terminal, X11 or an agent.
func newSession(id uint32, r Request) ([]byte, error) {
	var b []byte
	number := func(n uint32) { b = binary.BigEndian.AppendUint32(b, n) }
	text := func(s string) {
		number(uint32(len(s)))
		b = append(b, s...)
	}
	number(uint32(kindNewSession))
	number(id)
	text("")      // reserved
	for range 4 { // terminal, X11, agent, subsystem
		number(0)
	}
	number(0xffffffff) // no escape character
	text("")           // kind of terminal
	text(r.Command)
	for _, e := range r.Env {
		text(e)
	}
	if len(b) > maxRequest {
		return nil, fmt.Errorf("cannot request a session with a message of %d bytes: the limit is %d", len(b), maxRequest)
	}
	return framed(b), nil
}

// framed is a message as it travels.
func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
}
