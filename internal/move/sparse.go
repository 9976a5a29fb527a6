package move

import (
	"errors"
	"io"

	"fettle.dev/fettle/internal/host"
)

// Holes are detected in units of a block, the block size of the file systems. buffer is the size of
// one read.
const (
	block  = 4 << 10
	buffer = 16 * block
)

// copySparse copies size bytes of r, and leaves holes for blocks of zeroes.
func copySparse(w host.File, r io.Reader, size int64) (int64, error) {
	s := sparse{w: w}
	buf := make([]byte, min(max(size, 1), buffer))
	for {
		n, err := io.ReadFull(r, buf)
		if err := s.take(buf[:n]); err != nil {
			return s.size, err
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return s.size, s.end()
		}
		if err != nil {
			return s.size, err
		}
	}
}

// sparse writes a file but for its holes.
type sparse struct {
	w    host.File
	size int64 // total size written
	at   int64 // position of w: less than size after a hole
}

// take adds b, which begins at a block.
func (s *sparse) take(b []byte) error {
	for len(b) > 0 {
		n, zero := stretch(b)
		if !zero {
			if err := s.write(b[:n]); err != nil {
				return err
			}
		}
		s.size += int64(n)
		b = b[n:]
	}
	return nil
}

func (s *sparse) write(b []byte) error {
	if s.at < s.size {
		if _, err := s.w.Seek(s.size, io.SeekStart); err != nil {
			return err
		}
	}
	s.at = s.size + int64(len(b))
	_, err := s.w.Write(b)
	return err
}

// end sets the size of the file if it ends with a hole.
func (s *sparse) end() error {
	if s.at < s.size {
		return s.w.Truncate(s.size)
	}
	return nil
}

// stretch is how many bytes from the beginning of b are alike: in blocks that
// are all zero, or in blocks that are not.
func stretch(b []byte) (n int, zero bool) {
	zero = allZero(b[:min(block, len(b))])
	for n < len(b) && allZero(b[n:min(n+block, len(b))]) == zero {
		n = min(n+block, len(b))
	}
	return n, zero
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
