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

	"fettle.dev/fettle/internal/stream"
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

// frames returns the layout of a frame. A connection allocates one frame before it arrives.
func frames() stream.Format {
	return stream.Format{Head: headSize, Length: 6, Most: maxFrame, Room: maxFrame, Malformed: errMalformed}
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
	size, err := frames().ReadHead(r.from, r.head[:], 0)
	if err != nil {
		return frame{}, err
	}
	f := frame{kind: r.head[0], more: r.head[1]&flagMore != 0, stream: binary.BigEndian.Uint32(r.head[2:])}
	if f.kind < typeCall || f.kind > typePong || r.head[1]&^(flagDeflated|flagMore) != 0 {
		return frame{}, errMalformed
	}
	if r.head[1]&flagDeflated == 0 {
		f.payload, err = frames().ReadBody(r.from, nil, size)
		return f, err
	}
	if r.packed, err = frames().ReadBody(r.from, r.packed, size); err == nil {
		f.payload, err = r.inflate(r.packed)
	}
	return f, err
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
	out  []byte // the last frame
	buf  bytes.Buffer
	def  *flate.Writer // to buf
	poor int           // frames to go before compressing is tried again
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
	_, w.err = w.to.Write(w.out)
	return w.err
}

// pack encodes the frame, deflated where that is shorter.
func (w *writer) pack(f frame) {
	head, body := [headSize]byte{f.kind}, f.payload
	if f.more {
		head[1] = flagMore
	}
	binary.BigEndian.PutUint32(head[2:], f.stream)
	if len(body) >= worthwhile && w.tries() {
		if w.deflate(body); w.buf.Len() < len(body)*15/16 {
			head[1] |= flagDeflated
			body = w.buf.Bytes()
		} else {
			w.poor = patience
		}
	}
	w.out = frames().Append(w.out[:0], head[:], body)
}

func (w *writer) tries() bool {
	if w.poor > 0 {
		w.poor--
		return false
	}
	return true
}

func (w *writer) deflate(p []byte) {
	w.buf.Reset()
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
