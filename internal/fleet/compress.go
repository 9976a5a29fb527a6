package fleet

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"

	small "github.com/klauspost/compress/flate"
)

// compressedMark is the first byte of what Squeeze made smaller; JSON never begins with it.
const compressedMark = 1

// Compress makes JSON smaller for its way to a hub, if that is worth it: a report has a line
// for each module, and they look alike. It keeps no memory from one time to the next.
func Compress(text []byte) []byte {
	if len(text) < 512 {
		return text
	}
	out := bytes.NewBuffer(make([]byte, 0, len(text)/4))
	out.WriteByte(compressedMark)
	if err := small.StatelessDeflate(out, text, true, nil); err != nil || out.Len() >= len(text) {
		return text
	}
	return out.Bytes()
}

// Decompressor reads what Squeeze made. The zero value is ready; it may be used from any
// goroutine.
type Decompressor struct{ readers sync.Pool } // one is 40 KB

// Decompress gives the text, and an error for one that has more bytes than most, without
// reading them. What was never squeezed is given as it is.
func (u *Decompressor) Decompress(b []byte, most int) ([]byte, error) {
	if len(b) == 0 || b[0] != compressedMark {
		return b, nil
	}
	in := bytes.NewReader(b[1:])
	r, ok := u.readers.Get().(io.ReadCloser)
	if !ok {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, fmt.Errorf("cannot read what was squeezed: %w", err)
	}
	defer u.readers.Put(r)
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(text) > most {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what was squeezed: %w", err)
	}
	return text, nil
}
