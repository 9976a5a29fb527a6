package local

import (
	"bytes"
	"fmt"
	"io"
)

// outputCap is how much of each stream is kept: half from either end.
const outputCap = 1 << 20

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// capped keeps the first and the last part of a stream. The zero value is
// empty and ready.
type capped struct {
	head, tail []byte
	at         int   // where the oldest byte of a full tail is
	cut        int64 // bytes that are lost
}

// Write takes everything and never fails, so that no program blocks.
func (c *capped) Write(b []byte) (int, error) {
	all := len(b)
	room := min(outputCap/2-len(c.head), len(b))
	c.head = append(c.head, b[:room]...)
	b = b[room:]
	if room = min(outputCap/2-len(c.tail), len(b)); room > 0 {
		c.tail = append(c.tail, b[:room]...)
		b = b[room:]
	}
	c.cut += int64(len(b))
	if over := len(b) - outputCap/2; over > 0 {
		b = b[over:]
	}
	for len(b) > 0 {
		n := copy(c.tail[c.at:], b)
		b = b[n:]
		c.at = (c.at + n) % len(c.tail)
	}
	return all, nil
}

// Bytes is what was kept, with a mark where something is missing.
func (c *capped) Bytes() []byte {
	out := c.head
	if c.cut > 0 {
		out = fmt.Appendf(out, "\n[… %d bytes cut …]\n", c.cut)
	}
	out = append(out, c.tail[c.at:]...)
	return append(out, c.tail[:c.at]...)
}
