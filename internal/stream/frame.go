package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Format is the layout of the frames of one protocol: a head of fixed size, which contains the
// length of the body, and the body.
type Format struct {
	Head      int   // size of the head, in bytes
	Length    int   // offset of the length in the head: four bytes, most significant first
	Counted   int   // bytes of the head that the length includes
	Most      int   // maximum size of a body, in bytes
	Room      int   // bytes that are allocated before the body arrives; 0 means 64 KiB
	Malformed error // is in the chain of the error about an invalid length
}

const (
	defaultRoom = 64 << 10
	growth      = 4 // a buffer grows to this multiple of the bytes that arrived
	// together is the maximum size of a body that is copied to send it with its head in one write.
	together = 64 << 10
)

// Read reads a frame of which had bytes are in head already. The caller owns the body. The error is
// io.EOF only if the input ends before the first byte of a frame.
func (f Format) Read(r io.Reader, head []byte, had int) (body []byte, err error) {
	size, err := f.ReadHead(r, head, had)
	if err != nil {
		return nil, err
	}
	return f.ReadBody(r, nil, size)
}

// ReadHead reads a head, of which had bytes are in head already, and returns the size of the body.
func (f Format) ReadHead(r io.Reader, head []byte, had int) (size int, err error) {
	if _, err := io.ReadFull(r, head[had:f.Head]); err != nil {
		if had > 0 {
			err = Unexpected(err)
		}
		return 0, err
	}
	size = int(binary.BigEndian.Uint32(head[f.Length:])) - f.Counted
	if size < 0 || size > f.Most {
		return 0, fmt.Errorf("%w: a frame of %d bytes, and the limit is %d", f.Malformed, size, f.Most)
	}
	return size, nil
}

// ReadBody reads a body of that size, into buf if buf is large enough. The buffer of a larger body
// grows only as its bytes arrive. The error is never io.EOF.
func (f Format) ReadBody(r io.Reader, buf []byte, size int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < size {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(size, max(f.room(), growth*len(buf))))
			copy(grown, buf)
			buf = grown
		}
		n, err := io.ReadFull(r, buf[len(buf):min(cap(buf), size)])
		if buf = buf[:len(buf)+n]; err != nil {
			return nil, Unexpected(err)
		}
	}
	return buf, nil
}

func (f Format) room() int {
	if f.Room == 0 {
		return defaultRoom
	}
	return f.Room
}

// Append appends a frame to b. The length in head is set; its other bytes are copied.
func (f Format) Append(b, head []byte, parts ...[]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	begin := len(b)
	b = append(slices.Grow(b, f.Head+size), head...)
	f.setLength(b[begin:], size)
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func (f Format) setLength(head []byte, size int) {
	binary.BigEndian.PutUint32(head[f.Length:], uint32(size+f.Counted))
}

// Write writes a frame. It overwrites the length in head. A large body is not copied.
func (f Format) Write(w io.Writer, head, body []byte) error {
	if len(body) <= together {
		_, err := w.Write(f.Append(nil, head, body))
		return err
	}
	f.setLength(head, len(body))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// Unexpected converts an end of the input within a message to io.ErrUnexpectedEOF.
func Unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
