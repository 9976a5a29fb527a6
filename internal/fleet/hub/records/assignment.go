package records

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	small "github.com/klauspost/compress/flate"

	"fettle.dev/fettle/internal/fleet"
)

// Assignment is the signed assignment of one target in the memory of a hub. The envelope is
// not stored: Envelope builds it for each request. Targets with equal modules share one list of
// modules, so no field of Assignment may be modified.
type Assignment struct {
	// Fence is the number of the lease of the leader that wrote the record. A hub that lost the
	// lease without noticing has a lower number than its successor.
	Fence      uint64
	Signatures []fleet.Signature
	Assignment fleet.Assignment
	// Payload contains the signed bytes, or nil if Assignment.Marshal returns exactly these bytes.
	Payload []byte
	// Common contains the root bundle and the modules if they are stored once for many targets,
	// otherwise nil.
	Common *Common
	// Foreign is the content of the last assignment that the target showed, sorted by part; nil if it showed none. The log
	// of rollouts does not know how the target got this content. The target can have other content by now, and return to
	// this content. Targets with equal lists share them.
	Foreign []Content
	// Before is the number of the last assignment of the target in an earlier epoch; zero if it is not known.
	Before fleet.Have
}

// Have returns the number of the assignment.
func (g Assignment) Have() fleet.Have {
	return fleet.Have{Epoch: g.Assignment.Epoch, Generation: g.Assignment.Generation}
}

// Then returns the field Before of the record that replaces g.
func (g Assignment) Then(next fleet.Assignment) fleet.Have {
	if g.Assignment.Epoch < next.Epoch {
		return g.Have()
	}
	return g.Before
}

// StoredAssignment is the stored form of an [Assignment]: compressed JSON. It contains the
// payload instead of the envelope that agents get, because the base64 of an envelope compresses
// badly.
type StoredAssignment struct {
	Fence uint64 `json:"fence"`
	// Common is the digest of the shared modules, or "" if the payload is complete.
	Common     string            `json:"common,omitempty"`
	Foreign    []Content         `json:"foreign,omitempty"`
	Before     *fleet.Have       `json:"before,omitempty"`
	Payload    json.RawMessage   `json:"payload"`
	Signatures []fleet.Signature `json:"signatures"`
}

// withWords is the first byte of a record that is compressed with the dictionary storedWords.
// Records of older versions have no dictionary, and no deflate block begins with this byte.
const withWords = 6

// storedWords is the dictionary of the compression. It belongs to the format and must not change.
const storedWords = `"signatures":[{"keyid":"","sig":"=="}]}{"fence":1,"common":"","payload":{"format":"fettle.assignment/2",` +
	`"target":"","name":"web","epoch":17,"generation":1,"issued":17,` +
	`"labels":{"env":"prod","role":"web"},"fleet":"prod","frozen":"","withdrawn":"",` +
	`"revisions":[{"repository":"","commit":"","time":0}],` +
	`"top":{"bundle":{"digest":"","size":0},"revision":0},"modules":null},"signatures":[{"keyid":"`

// Signed returns the bytes that the signatures cover.
func (g Assignment) Signed() []byte {
	switch {
	case g.Payload != nil:
		return g.Payload
	case g.Common != nil:
		return g.Common.Marshal(g.Assignment)
	}
	return g.Assignment.Marshal()
}

// Envelope returns the signed assignment as agents get it.
func (g Assignment) Envelope() ([]byte, error) {
	return fleet.Envelope(g.Signed(), fleet.AssignmentType, g.Signatures...)
}

// Packer encodes and decodes stored assignments. The zero value is ready.
type Packer struct{ writers, readers sync.Pool } // pools: each compressor is large, and each target has an assignment

// Pack returns the stored form of an assignment.
func (p *Packer) Pack(g Assignment) ([]byte, error) { return p.PackText(g, g.Signed()) }

// PackText is like Pack, but takes the signed text.
func (p *Packer) PackText(g Assignment, signed []byte) ([]byte, error) {
	signatures, err := json.Marshal(g.Signatures)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, ok := p.writers.Get().(*small.Writer)
	if ok {
		w.Reset(&out)
	} else if w, err = small.NewWriterDict(&out, 5, []byte(storedWords)); err != nil {
		return nil, err
	}
	defer p.writers.Put(w)
	out.WriteByte(withWords)
	more := ""
	if g.Common != nil {
		more, signed = fmt.Sprintf(`"common":%q,`, g.Common.Digest), g.Assignment.WithoutSharedParts().Marshal()
	}
	if len(g.Foreign) > 0 {
		foreign, err := json.Marshal(g.Foreign)
		if err != nil {
			return nil, err
		}
		more += fmt.Sprintf(`"foreign":%s,`, foreign)
	}
	if g.Before.Epoch > 0 {
		more += fmt.Sprintf(`"before":{"epoch":%d,"generation":%d},`, g.Before.Epoch, g.Before.Generation)
	}
	// The payload is already JSON. json.Marshal would parse all of it again.
	_, err = fmt.Fprintf(w, `{"fence":%d,%s"payload":%s,"signatures":%s}`, g.Fence, more, signed, signatures)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// Unpack decodes a stored assignment without verifying its signatures.
func (p *Packer) Unpack(b []byte) (s StoredAssignment, err error) {
	const most = 2 * fleet.MaxAssignment
	var words []byte
	if len(b) > 0 && b[0] == withWords {
		b, words = b[1:], []byte(storedWords)
	}
	r, ok := p.readers.Get().(io.Reader)
	if !ok {
		r = small.NewReader(nil)
	}
	defer p.readers.Put(r)
	if err := r.(small.Resetter).Reset(bytes.NewReader(b), words); err != nil {
		return s, err
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("cannot read an assignment of the store: %w", err)
	}
	return s, nil
}

// Common is one shared set.
type Common struct {
	Digest string
	fleet.SharedParts
}

// ParseCommon decodes the root bundle and the modules of a [Common].
func ParseCommon(b []byte) (parts []fleet.Assigned, err error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), fleet.MaxAssignment))
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err == nil && len(parts) == 0 {
		err = errors.New("the record is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the shared modules of assignments: %w", err)
	}
	return parts, nil
}
