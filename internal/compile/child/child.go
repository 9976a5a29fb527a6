// Package child is the protocol between a compiler in a separate process and the holder of the
// repository: a pure codec, and both ends of the exchange.
//
//	c, err := child.Connect(out, in, tree)      // the holder of the repository
//	res, ds, err := c.Compile(input)
//
//	err := child.Serve(os.Stdin, os.Stdout, at) // the child
//
// # The exchange
//
// A message is one byte of kind, four bytes of length, big endian, and a payload of at most
// MaxMessage bytes.
//
//	holder ── 'T' names of the tree, small contents ──►  child   once
//	holder ── 'Q' question ──────────────────────────►  child
//	holder ◄── 'R' a file, please ─────────────────────  child   any number
//	holder ── 'A' its content, or the error ─────────►  child
//	holder ◄── 'E' result ─────────────────────────────  child   then the next 'Q'
//
// Before a question that compares two revisions the holder sends the names of the earlier revision
// as 'O', once; the child requests its files with 'P' instead of 'R'.
//
// The child requests all content that 'T' omits, so it gets the same answers and errors as the tree
// gives. Content that is only copied is never sent: a result names it by digest and path.
//
// The holder does not trust the child. It parses a result as a list, computes the digests of its
// content, and looks up its references in the repository. A mismatch is an error, never a panic,
// and memory use is limited by the size of the message.
package child

import (
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/stream"
)

// MaxMessage is the size of one message in bytes.
const MaxMessage = 64 << 20

const (
	kindTree          = 'T'
	kindOther         = 'O'
	kindQuestion      = 'Q'
	kindRequest       = 'R'
	kindRequestBefore = 'P'
	kindAnswer        = 'A'
	kindResult        = 'E'
)

// ErrNonsense is in the chain of every error about a message that no correct peer would send.
var ErrNonsense = errors.New("the answer is invalid")

func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNonsense, fmt.Sprintf(format, args...))
}

// conn sends and receives whole messages. It is not safe for concurrent use.
type conn struct {
	r io.Reader
	w io.Writer
}

// frames returns the layout of a message.
func frames() stream.Format {
	return stream.Format{Head: 5, Length: 1, Most: MaxMessage, Malformed: ErrNonsense}
}

func (c conn) send(kind byte, payload []byte) error {
	if len(payload) > MaxMessage {
		return fmt.Errorf("cannot send %d bytes in one message: the limit is %d", len(payload), MaxMessage)
	}
	if err := frames().Write(c.w, []byte{kind, 0, 0, 0, 0}, payload); err != nil {
		return fmt.Errorf("cannot send a message: %w", err)
	}
	return nil
}

// receive reads one message. io.EOF means that the peer ended between two messages.
func (c conn) receive() (kind byte, payload []byte, err error) {
	var head [5]byte
	payload, err = frames().Read(c.r, head[:], 0)
	return head[0], payload, err
}
