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

// compressedMark is the first byte of compressed text; JSON never begins with it.
const compressedMark = 1

// Compress compresses JSON for the transfer to a hub, if that makes it smaller: a report has a
// similar line for each module. It keeps no memory between calls.
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

// Decompressor reverses Compress. The zero value is ready to use, also from several goroutines.
type Decompressor struct{ readers sync.Pool } // a reader has 40 KB

// Decompress returns the text, or an error if it has more than most bytes. Text that is not
// compressed is returned unchanged.
func (u *Decompressor) Decompress(b []byte, most int) ([]byte, error) {
	if len(b) == 0 || b[0] != compressedMark {
		return b, nil
	}
	in := bytes.NewReader(b[1:])
	r, ok := u.readers.Get().(io.ReadCloser)
	if !ok {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, fmt.Errorf("cannot decompress: %w", err)
	}
	defer u.readers.Put(r)
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(text) > most {
		err = errors.New("it is larger than permitted")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decompress: %w", err)
	}
	return text, nil
}
