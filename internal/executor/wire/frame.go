package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The types of frames.
const (
	typeCall byte = iota + 1
	typeResult
	typeFault
	typeEvent
	typeData
	typeGrant
	typeCancel
	typePing
	typePong
)

const (
	flagDeflated = 1
	flagMore     = 2

	headSize = 10
	// maxFrame bounds the payload of a frame, as it is sent and as it is meant.
	maxFrame = 256 << 10
	// worthwhile is the minimum size for compression, in bytes. On a contact that changes
	// nothing, the first use of the compressor is the target's largest cost. Below this
	// size it saves no round trip.
	worthwhile = 16 << 10
)

// frame is one piece of a message. The receiver owns its payload.
type frame struct {
	kind    byte
	more    bool
	stream  uint32
	payload []byte
}

var errMalformed = errors.New("the data does not follow the protocol of fettle")

// reader reads frames. It is used by one goroutine.
type reader struct {
	from   *bufio.Reader
	head   [headSize]byte
	packed []byte
	inf    io.ReadCloser
	src    bytes.Reader
}

func newReader(r io.Reader) *reader { return &reader{from: bufio.NewReaderSize(r, 64<<10)} }

// next reads a frame; io.EOF only where one could begin.
func (r *reader) next() (frame, error) {
	if _, err := io.ReadFull(r.from, r.head[:1]); err != nil {
		return frame{}, err
	}
	if _, err := io.ReadFull(r.from, r.head[1:]); err != nil {
		return frame{}, unexpected(err)
	}
	f := frame{kind: r.head[0], more: r.head[1]&flagMore != 0, stream: binary.BigEndian.Uint32(r.head[2:])}
	size := binary.BigEndian.Uint32(r.head[6:])
	if f.kind < typeCall || f.kind > typePong || r.head[1]&^(flagDeflated|flagMore) != 0 || size > maxFrame {
		return frame{}, errMalformed
	}
	if r.head[1]&flagDeflated == 0 {
		f.payload = make([]byte, size)
		_, err := io.ReadFull(r.from, f.payload)
		return f, unexpected(err)
	}
	if cap(r.packed) < int(size) {
		r.packed = make([]byte, maxFrame)
	}
	packed := r.packed[:size]
	if _, err := io.ReadFull(r.from, packed); err != nil {
		return frame{}, unexpected(err)
	}
	var err error
	f.payload, err = r.inflate(packed)
	return f, err
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) inflate(packed []byte) ([]byte, error) {
	r.src.Reset(packed)
	if r.inf == nil {
		r.inf = flate.NewReader(&r.src)
	} else if err := r.inf.(flate.Resetter).Reset(&r.src, nil); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r.inf, maxFrame+1))
	if err != nil || n > maxFrame {
		return nil, fmt.Errorf("%w: a frame is too large or damaged", errMalformed)
	}
	return out.Bytes(), nil
}

// writer writes frames, one at a time, from any goroutine.
type writer struct {
	mu   sync.Mutex
	to   io.Writer
	buf  bytes.Buffer
	def  *flate.Writer
	poor int // frames to go before compressing is tried again
	err  error
}

// patience is for how many frames of a stream that does not compress nothing is
// tried.
const patience = 32

// send writes one frame at once. After an error every call gives it again.
func (w *writer) send(f frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.pack(f)
	_, w.err = w.to.Write(w.buf.Bytes())
	return w.err
}

// pack puts the frame into the buffer, deflated where that is shorter.
func (w *writer) pack(f frame) {
	var head [headSize]byte
	head[0] = f.kind
	if f.more {
		head[1] = flagMore
	}
	binary.BigEndian.PutUint32(head[2:], f.stream)
	w.buf.Reset()
	w.buf.Write(head[:])
	if len(f.payload) >= worthwhile && w.tries() {
		if w.deflate(f.payload); w.buf.Len()-headSize < len(f.payload)*15/16 {
			head[1] |= flagDeflated
		} else {
			w.poor = patience
			w.buf.Truncate(headSize)
		}
	}
	if head[1]&flagDeflated == 0 {
		w.buf.Write(f.payload)
	}
	binary.BigEndian.PutUint32(head[6:], uint32(w.buf.Len()-headSize))
	copy(w.buf.Bytes(), head[:])
}

func (w *writer) tries() bool {
	if w.poor > 0 {
		w.poor--
		return false
	}
	return true
}

func (w *writer) deflate(p []byte) {
	if w.def == nil {
		w.def, _ = flate.NewWriter(&w.buf, flate.BestSpeed) // the level is valid
	} else {
		w.def.Reset(&w.buf)
	}
	_, _ = w.def.Write(p) // into memory
	_ = w.def.Close()
}

// sendMessage writes a payload of any length as frames of one type.
func (w *writer) sendMessage(kind byte, stream uint32, payload []byte) error {
	for {
		n := min(len(payload), maxFrame)
		if err := w.send(frame{kind, n < len(payload), stream, payload[:n]}); err != nil {
			return err
		}
		if payload = payload[n:]; len(payload) == 0 {
			return nil
		}
	}
}
