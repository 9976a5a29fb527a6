package local

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
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

// Bytes returns the kept output, with a mark for missing parts.
func (c *capped) Bytes() []byte {
	out := c.head
	if c.cut > 0 {
		out = fmt.Appendf(out, "\n[… %d bytes cut …]\n", c.cut)
	}
	out = append(out, c.tail[c.at:]...)
	return append(out, c.tail[:c.at]...)
}

// outputs has both streams of a program. Output is stored, and passed to watch.
type outputs struct {
	mu    sync.Mutex // of kept streams
	both  [2]capped
	shows sync.Mutex // one piece at a time
	watch func(stderr bool, p []byte)
}

// stream is one of them as a writer, which never fails.
type stream struct {
	*outputs
	which int
}

// Write implements io.Writer.
func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	_, _ = s.both[s.which].Write(p)
	s.mu.Unlock()
	if s.watch != nil {
		s.shows.Lock()
		defer s.shows.Unlock()
		s.watch(s.which == 1, p)
	}
	return len(p), nil
}

// kept returns the stored output of a stream so far.
func (o *outputs) kept(which int) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.both[which].Bytes()
}

// howEnded returns the exit code, or -1 and the signal.
func howEnded(p *os.ProcessState) (code int, signal string) {
	if p == nil {
		return -1, ""
	}
	if st, ok := p.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return -1, st.Signal().String()
	}
	return p.ExitCode(), ""
}
