package versions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
)

// gzipHeader begins a stream in the format gzip. The stream has no end, so it needs no checksum.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// lastBlock is an empty block that ends compressed data.
const lastBlock = "\x01\x00\x00\xff\xff"

// Connection is a connection to a browser. Flush delivers all written data.
type Connection interface {
	io.Writer
	Flush() error
}

// Stream sends different versions of a page as server-sent events.
type Stream struct {
	Connection
	compressed, begun bool
	last              digest
}

// NewStream returns a stream. A compressed one has the format gzip.
func NewStream(to Connection, compressed bool) *Stream {
	return &Stream{Connection: to, compressed: compressed}
}

// Send sends a version, unless it is the last one, and the time since it was read.
func (o *Stream) Send(v Version) error {
	if err := o.begin(); err != nil {
		return err
	}
	if v.digest != o.last {
		o.last = v.digest
		if err := o.page(v); err != nil {
			return err
		}
	}
	if err := o.text(fmt.Sprintf("event: read\ndata: %d\n\n", time.Since(v.read).Milliseconds())); err != nil {
		return err
	}
	return o.Flush()
}

func (o *Stream) begin() (err error) {
	if o.compressed && !o.begun {
		_, err = io.WriteString(o, gzipHeader)
	}
	o.begun = true
	return err
}

func (o *Stream) page(v Version) (err error) {
	if o.compressed {
		_, err = o.Write(v.packed)
		return err
	}
	_, err = io.Copy(o, flate.NewReader(io.MultiReader(bytes.NewReader(v.packed), strings.NewReader(lastBlock))))
	return err
}

// text sends a short text: in a compressed stream as a block that is not compressed.
func (o *Stream) text(text string) (err error) {
	if o.compressed {
		block := binary.LittleEndian.AppendUint16([]byte{0}, uint16(len(text)))
		text = string(binary.LittleEndian.AppendUint16(block, ^uint16(len(text)))) + text
	}
	_, err = io.WriteString(o, text)
	return err
}
