package mem

import (
	"math/rand/v2"
	"slices"
)

// content is the bytes of a file: as they are, and as a power cut leaves them.
type content struct {
	data   []byte
	synced []byte // durable
	fixed  int    // so much of data is the memory of synced or of late as well, and stays as it is
	late   []extent
}

// extent is a write since the last sync; bytes nil is a truncation to at.
type extent struct {
	at    int64
	bytes []byte
	lost  bool // a sync of it failed: no later one makes it durable
}

func (c *content) write(at int64, b []byte) {
	e := extent{at: at, bytes: append([]byte{}, b...)}
	c.late = append(c.late, e)
	if at == 0 && len(c.data) <= len(b) { // most files are written at once
		c.data, c.fixed = e.bytes, len(b)
		return
	}
	c.own(at)
	c.data = overlay(c.data, e)
}

func (c *content) truncate(size int64) {
	c.own(size)
	c.data = overlay(c.data, extent{at: size})
	c.late = append(c.late, extent{at: size})
}

// own makes the content after a place a private copy that can be changed.
func (c *content) own(at int64) {
	if at < int64(c.fixed) {
		c.data, c.fixed = slices.Clone(c.data), 0
	}
}

// sync makes content durable, except content of a failed sync.
func (c *content) sync() {
	i := slices.IndexFunc(c.late, func(e extent) bool { return e.lost })
	if i < 0 {
		c.synced, c.fixed, c.late = c.data, len(c.data), nil
		return
	}
	durable := slices.Clone(c.synced)
	for _, e := range c.late {
		if !e.lost {
			durable = overlay(durable, e)
		}
	}
	c.synced = durable
	c.late = slices.DeleteFunc(c.late, func(e extent) bool { return !e.lost })
}

// lose simulates a failed sync: as on Linux, its data counts as written and can be read, but is
// never written.
func (c *content) lose() {
	for i := range c.late {
		c.late[i].lost = true
	}
}

// overlay applies one write. A range that is truncated and later extended contains zeroes.
func overlay(data []byte, e extent) []byte {
	end := e.at + int64(len(e.bytes))
	if e.bytes == nil && end < int64(len(data)) {
		clear(data[end:])
		return data[:end]
	}
	if grow := end - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[e.at:], e.bytes)
	return data
}

// crashed returns the content after a power cut: of the unsynced part all, nothing, a prefix or
// zeroes.
func (c *content) crashed(rng *rand.Rand) []byte {
	if len(c.late) == 0 {
		return slices.Clone(c.synced)
	}
	switch out := slices.Clone(c.synced); rng.IntN(4) {
	case 0:
		return slices.Clone(c.data)
	case 1:
		return out
	case 2:
		whole := rng.IntN(len(c.late))
		for _, e := range c.late[:whole] {
			out = overlay(out, e)
		}
		last := c.late[whole]
		if cut := len(last.bytes); cut > 0 {
			out = overlay(out, extent{at: last.at, bytes: last.bytes[:rng.IntN(cut)]})
		}
		return out
	default:
		for _, e := range c.late {
			if e.bytes != nil {
				e.bytes = make([]byte, len(e.bytes))
			}
			out = overlay(out, e)
		}
		return out
	}
}

const block = 4096

// nextData finds the next run of blocks that are not all zeroes.
func (c *content) nextData(off int64) (start, end int64) {
	size := int64(len(c.data))
	for start = off; start < size && c.hole(start); {
		start = (start/block + 1) * block
	}
	if start >= size {
		return size, size
	}
	for end = start; end < size && !c.hole(end); {
		end = (end/block + 1) * block
	}
	return start, min(end, size)
}

func (c *content) hole(at int64) bool {
	from := at / block * block
	for _, b := range c.data[from:min(from+block, int64(len(c.data)))] {
		if b != 0 {
			return false
		}
	}
	return true
}
