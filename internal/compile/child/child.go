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
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

func (c conn) send(kind byte, payload []byte) error {
	if len(payload) > MaxMessage {
		return fmt.Errorf("cannot send %d bytes in one message: the limit is %d", len(payload), MaxMessage)
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	if _, err := c.w.Write(append(head, payload...)); err != nil {
		return fmt.Errorf("cannot send a message: %w", err)
	}
	return nil
}

// receive reads one message. io.EOF means that the peer ended between two messages. Memory is
// allocated for received bytes, not for the announced length.
func (c conn) receive() (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxMessage {
		return 0, nil, nonsense("a message of %d bytes", n)
	}
	if n <= 64<<10 {
		payload := make([]byte, n)
		_, err := io.ReadFull(c.r, payload)
		return head[0], payload, whole(err)
	}
	var buf bytes.Buffer
	_, err := io.CopyN(&buf, c.r, int64(n))
	return head[0], buf.Bytes(), whole(err)
}

// whole converts an end of the input within a message to a separate error.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
