package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"fettle.dev/fettle/internal/host"
)

const (
	magic       = "FETTLEWAL1\n"
	magicFamily = "FETTLEWAL"
	frameHead   = 16
	maxPayload  = 1<<24 - 1
)

// castagnoli is crc32c. crc32 keeps the table by itself and makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// CorruptError means that a journal is damaged in its middle, which a crash never causes. Records
// before the damage were read and are valid.
type CorruptError struct {
	Run    int
	Offset int64 // of the first bad byte
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("cannot read the journal of run %d beyond byte %d: %s; the disk has lost data: check it, and restore the state directory from a backup", e.Run, e.Offset, e.Reason)
}

// NewerFormatError means that a newer fettle wrote the file.
type NewerFormatError struct{ What string }

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("cannot read %s: a newer fettle wrote it; install that version or a later one", e.What)
}

// appendFrame appends one record to b and returns the length of its payload.
func appendFrame(b []byte, seq uint64, r *Record) ([]byte, int, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b, err := appendRecord(b, r)
	n := len(b) - at - frameHead
	binary.LittleEndian.PutUint32(b[at:], uint32(n))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(b[at+8:], castagnoli()))
	return b, n, err
}

// frame is one record that was found, not decoded yet.
type frame struct {
	seq     uint64
	payload []byte
	size    int // with its head
}

// cutFrame reads the frame at the start of b; false when there is none.
func cutFrame(b []byte) (frame, bool) {
	if len(b) < frameHead+2 {
		return frame{}, false
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 2 || n > maxPayload || n > len(b)-frameHead || b[frameHead] != '{' || b[frameHead+n-1] != '}' {
		return frame{}, false
	}
	if crc32.Checksum(b[8:frameHead+n], castagnoli()) != binary.LittleEndian.Uint32(b[4:]) {
		return frame{}, false
	}
	return frame{seq: binary.LittleEndian.Uint64(b[8:]), payload: b[frameHead : frameHead+n], size: frameHead + n}, true
}

func (f frame) decode() (Record, error) {
	var r Record
	err := Unmarshal(f.payload, &r)
	r.Seq = f.seq
	return r, err
}

// edge decodes only the fields of records that begin or end a run. Decoding types with images would
// cost more than all other reading.
func (f frame) edge() (Record, error) {
	var e struct {
		Kind    RecordKind `json:"k"`
		At      int64      `json:"t"`
		Header  *Header    `json:"run"`
		Outcome Outcome    `json:"outcome"`
		Summary *Summary   `json:"sum"`
	}
	err := Unmarshal(f.payload, &e)
	return Record{Seq: f.seq, Kind: e.Kind, At: e.At, Header: e.Header, Outcome: e.Outcome, Summary: e.Summary}, err
}

// scanned is the decoded content of a journal.
type scanned struct {
	records []Record
	good    int64  // end of the valid prefix
	last    Record // the last readable record, also after damage
	proved  bool   // the run has ended although its journal has no end
}

// scan reads a whole journal. It returns the valid prefix with every error.
func scan(run int, b []byte) (scanned, error) {
	var s scanned
	if !strings.HasPrefix(string(b[:min(len(b), len(magic))]), magic) {
		if isNewer(b) {
			return s, &NewerFormatError{What: fmt.Sprintf("the journal of run %d", run)}
		}
		return s, s.beyond(run, b, 0)
	}
	s.good = int64(len(magic))
	for int(s.good) < len(b) {
		f, ok := cutFrame(b[s.good:])
		if !ok || f.seq != uint64(len(s.records)+1) {
			break
		}
		r := Record{Seq: f.seq, Kind: Stated, piece: f.payload}
		var err error
		if !isPiece(f.payload) {
			r, err = f.decode()
		}
		if err != nil {
			break
		}
		if len(s.records) == 0 {
			if err := checkBegin(run, r); err != nil {
				return s, err
			}
		}
		s.records, s.last = append(s.records, r), r
		s.good += int64(f.size)
	}
	return s, s.beyond(run, b, int(s.good))
}

// isNewer distinguishes a newer journal's first line from a damaged one.
func isNewer(b []byte) bool {
	head, _, ok := strings.Cut(string(b[:min(len(b), 16)]), "\n")
	n, found := strings.CutPrefix(head, magicFamily)
	return ok && found && n != "" && n != "0" && n != "1" && strings.Trim(n, "0123456789") == ""
}

func checkBegin(run int, r Record) error {
	switch {
	case r.Kind != Begin || r.Header == nil:
		return &CorruptError{Run: run, Offset: int64(len(magic)), Reason: "it does not begin with its header"}
	case r.Header.Format > 1:
		return &NewerFormatError{What: fmt.Sprintf("the journal of run %d", run)}
	case r.Header.Run != run:
		return &CorruptError{Run: run, Offset: int64(len(magic)),
			Reason: fmt.Sprintf("its header names run %d", r.Header.Run)}
	}
	return nil
}

// beyond checks whether a record after a bad place was written after the bad place was durable.
func (s *scanned) beyond(run int, b []byte, at int) error {
	lost := uint64(len(s.records) + 1)
	proof := false
	for p := at; p < len(b); {
		f, ok := cutFrame(b[p:])
		if !ok {
			p++
			continue
		}
		if r, err := f.decode(); err == nil {
			proof = proof || r.Synced >= lost
			s.last = r
		}
		p += f.size
	}
	if !proof {
		return nil
	}
	return &CorruptError{Run: run, Offset: int64(at),
		Reason: fmt.Sprintf("record %d is damaged, although it was written durably", lost)}
}

// lastFrame finds the record that ends exactly where b ends, as far as edge reads it; b
// is the tail of a journal.
func lastFrame(b []byte) (Record, bool) {
	for p := len(b) - frameHead - 2; p >= 0; p-- {
		if int64(binary.LittleEndian.Uint32(b[p:])) != int64(len(b)-p-frameHead) {
			continue
		}
		if f, ok := cutFrame(b[p:]); ok {
			r, err := f.edge()
			return r, err == nil
		}
	}
	return Record{}, false
}

// isPiece reports whether a payload is a piece of a state, which scanning does not decode.
func isPiece(payload []byte) bool { return bytes.HasPrefix(payload, []byte(`{"k":"state",`)) }

func readAt(f host.File, off, n int64) ([]byte, bool) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, off)
	return b, err == nil || errors.Is(err, io.EOF)
}

// window is how much of a journal's head and tail is read to describe the run,
// in bytes.
const window = 8 << 10
