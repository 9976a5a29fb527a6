package agentconn

import (
	"encoding/binary"
	"errors"
	"io"

	"fettle.dev/fettle/internal/stream"
)

// Types of frames.
const (
	kindHello   = 'H'
	kindMessage = 'M'
	kindNobody  = 'N'
	kindPing    = 'P'
	kindPong    = 'O'
	kindRefused = 'X'
)

// MaxBody is the maximum size of the body of a message, in bytes.
const MaxBody = 2<<20 + 64<<10

const (
	maxSubject = 256
	maxFrame   = MaxBody + 4*maxSubject
	headSize   = 5
	// Size of the buffer that a hub and an agent allocate for a frame before its content arrives,
	// in bytes. An agent has one hub, and an assignment has about 20 KB.
	hubRoom   = 8 << 10
	agentRoom = 256 << 10
)

// errForm means that the other end violates the protocol.
var errForm = errors.New("the other end violates the protocol")

// frames returns the layout of a frame: its length includes the type. room bytes are allocated before
// the content arrives.
func frames(room int) stream.Format {
	return stream.Format{Head: headSize, Counted: 1, Most: maxFrame, Room: room, Malformed: errForm}
}

// head is the beginning of a frame. It is a part of the connection, since a buffer that is passed
// to a reader would be allocated on the heap each time.
type head [headSize]byte

// read reads one frame of which had bytes are in h already. The caller owns rest.
func (h *head) read(r io.Reader, had, room int) (kind byte, rest []byte, err error) {
	rest, err = frames(room).Read(r, h[:], had)
	return h[4], rest, err
}

// appendFrame appends a frame to b.
func appendFrame(b []byte, kind byte, parts ...[]byte) []byte {
	return frames(0).Append(b, []byte{0, 0, 0, 0, kind}, parts...)
}

func packHello(b []byte, number uint64, name string) []byte {
	return appendFrame(b, kindHello, binary.AppendUvarint(nil, number), []byte(name))
}

func openHello(b []byte) (number uint64, name string, err error) {
	number, n := binary.Uvarint(b)
	if n <= 0 || !isPlain(string(b[n:])) {
		return 0, "", errForm
	}
	return number, string(b[n:]), nil
}

func packMessage(b []byte, subject, reply string, body []byte) []byte {
	said := make([]byte, 0, len(subject)+len(reply)+4)
	said = binary.AppendUvarint(said, uint64(len(subject)))
	said = append(said, subject...)
	said = binary.AppendUvarint(said, uint64(len(reply)))
	said = append(said, reply...)
	return appendFrame(b, kindMessage, said, body)
}

// openMessage decodes a message; body is a part of b. reply is "" if there is none.
func openMessage(b []byte) (subject, reply string, body []byte, err error) {
	subject, b, ok := cutText(b)
	if ok {
		reply, b, ok = cutText(b)
	}
	if !ok || !isPlain(subject) || reply != "" && !isPlain(reply) || len(b) > MaxBody {
		return "", "", nil, errForm
	}
	return subject, reply, b, nil
}

func cutText(b []byte) (text string, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > maxSubject || n > uint64(len(b)-used) {
		return "", nil, false
	}
	end := used + int(n)
	return string(b[used:end]), b[end:], true
}
