package content

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/repo"
)

// indexReader reads the index of a bundle. After an error, its methods return zero values.
type indexReader struct {
	in   *bufio.Reader
	read int64
	err  error
}

func (x *indexReader) bytes(n int) []byte {
	if x.err == nil && x.read+int64(n) > maxIndex {
		x.err = errors.New("its names are too long in total")
	}
	if x.err != nil {
		return make([]byte, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(x.in, b); err != nil {
		x.err = fmt.Errorf("it ends within its index: %w", err)
	}
	x.read += int64(n)
	return b
}

func (x *indexReader) text() string {
	n := int(binary.BigEndian.Uint16(x.bytes(2)))
	if x.err == nil && (n == 0 || n > maxText) {
		x.err = fmt.Errorf("it has a name of %d bytes, which is not allowed", n)
	}
	if x.err != nil {
		return ""
	}
	return string(x.bytes(n))
}

func (x *indexReader) items() []repo.Item {
	if string(x.bytes(len(magic))) != magic {
		if x.err == nil {
			x.err = fmt.Errorf("it does not begin with %q", magic)
		}
		return nil
	}
	count := binary.BigEndian.Uint32(x.bytes(4))
	if x.err == nil && count > MaxFiles {
		x.err = fmt.Errorf("it has %d files, more than %d", count, MaxFiles)
	}
	var out []repo.Item
	for range count {
		if x.err != nil {
			return nil
		}
		out = append(out, x.item())
	}
	return out
}

func (x *indexReader) item() repo.Item {
	kind := x.bytes(1)[0]
	it := repo.Item{Path: x.text()}
	switch kind {
	case 'l':
		it.Type, it.Target = repo.Symlink, x.text()
		it.Size = int64(len(it.Target))
	case 'f', 'x':
		it.Exec = kind == 'x'
		it.Size = int64(binary.BigEndian.Uint64(x.bytes(8))) // checkItems refuses negative sizes
		it.Digest = digestText(x.bytes(32))
	default:
		if x.err == nil {
			x.err = fmt.Errorf("%.80q is of the type %d; only files, executable files and links are supported", it.Path, kind)
		}
	}
	return it
}
