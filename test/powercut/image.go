package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// Keep selects the unflushed writes that a disk keeps after a power cut.
type Keep int

// The possible fates of unflushed writes.
const (
	None Keep = iota
	Half      // each block by dice
	All
)

func (k Keep) String() string { return [...]string{"none", "half", "all"}[k] }

// Image creates disk images from a log. It only moves forward: request cuts in the order of the log.
type Image struct {
	ops     []Op
	content []byte
	used    []bool // blocks that may hold other than zeros
	flushed int    // entries that content has: those up to a flush
}

// NewImage starts with the content of the disk at the beginning of the log; nil means an empty disk.
func NewImage(size int64, start *os.File, ops []Op) (*Image, error) {
	m := &Image{ops: ops, content: make([]byte, size), used: make([]bool, size/Block)}
	if start == nil {
		return m, nil
	}
	if _, err := start.ReadAt(m.content, 0); err != nil {
		return nil, fmt.Errorf("cannot read the disk: %w", err)
	}
	for i := range m.used {
		m.used[i] = !zero(m.content[i*Block : (i+1)*Block])
	}
	return m, nil
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Forward takes in everything up to the last flush among the first n entries.
func (m *Image) Forward(n int) {
	last := m.flushed
	for i := m.flushed; i < n; i++ {
		if m.ops[i].Flush() {
			last = i + 1
		}
	}
	for ; m.flushed < last; m.flushed++ {
		m.apply(m.ops[m.flushed])
	}
}

func (m *Image) apply(o Op) {
	switch o.kind {
	case opWrite:
		copy(m.content[o.off:], o.data)
	case opZero:
		clear(m.content[o.off : o.off+o.n])
	default:
		return
	}
	for b := o.off / Block; b*Block < o.off+o.n; b++ {
		m.used[b] = true
	}
}

// Cut returns a possible content of the disk after a power cut behind n entries, as a new file in
// memory. The caller must close it. The same seed gives the same content.
func (m *Image) Cut(n int, keep Keep, seed uint64) (*os.File, error) {
	m.Forward(n)
	f, err := memory(int64(len(m.content)))
	if err != nil {
		return nil, err
	}
	if err := m.write(f); err != nil {
		f.Close()
		return nil, err
	}
	if keep == None {
		return f, nil
	}
	dice := rand.New(rand.NewPCG(seed, uint64(n)))
	for _, o := range m.ops[m.flushed:n] {
		if err := late(f, o, func() bool { return keep == All || dice.IntN(2) == 0 }); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// write puts the content into a file of zeros, in runs of used blocks.
func (m *Image) write(f *os.File) error {
	for b := 0; b < len(m.used); b++ {
		if !m.used[b] {
			continue
		}
		first := b
		for b < len(m.used) && m.used[b] {
			b++
		}
		if _, err := f.WriteAt(m.content[first*Block:b*Block], int64(first*Block)); err != nil {
			return err
		}
	}
	return nil
}

// late writes of an unflushed entry the blocks that stay.
func late(f *os.File, o Op, stays func() bool) error {
	for at := int64(0); at < o.n; {
		n := min(Block-(o.off+at)%Block, o.n-at)
		switch {
		case o.Flush() || !stays():
		case o.kind == opZero:
			if _, err := f.WriteAt(make([]byte, n), o.off+at); err != nil {
				return err
			}
		default:
			if _, err := f.WriteAt(o.data[at:at+n], o.off+at); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}
