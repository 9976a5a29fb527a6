package content

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Limits of the cache of compressed content, in bytes.
const (
	packedTotal = 64 << 20
	packedOne   = 16 << 20 // of content, before compression
)

// window is the maximum memory of a decoder for earlier content, in bytes.
const window = 4 << 20

// packedCache caches compressed content in memory, since all targets of a fleet request the same
// content at the same time. The zero value is ready to use.
type packedCache struct {
	mu    sync.Mutex
	have  map[string][]byte
	order []string // oldest first
	total int
}

// get returns content compressed, or nil if it is too large or cannot be read.
func (c *packedCache) get(digest string, size int64, r io.ReaderAt) []byte {
	if size > packedOne {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock() // concurrent callers wait, so that content is compressed once
	if b, ok := c.have[digest]; ok {
		return b
	}
	b := compress(io.NewSectionReader(r, 0, size), size)
	if b == nil {
		return nil
	}
	if c.have == nil {
		c.have = map[string][]byte{}
	}
	c.have[digest] = b
	c.order = append(c.order, digest)
	for c.total += len(b); c.total > packedTotal; c.order = c.order[1:] {
		c.total -= len(c.have[c.order[0]])
		delete(c.have, c.order[0])
	}
	return b
}

func compress(r io.Reader, size int64) []byte {
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return nil
	}
	defer w.Close()
	return w.EncodeAll(text, nil)
}

// newDecoder decodes the output of compress, with limited memory for any input.
func newDecoder(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window),
		zstd.WithDecoderLowmem(true))
}
