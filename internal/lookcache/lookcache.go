// Package lookcache remembers a look at a whole machine that found nothing to
// do, so that the next one can be told from it by one lstat a path.
//
// A plan is a pure function of the list, of what is applied and of what was
// observed. When the first two are as they were, and every path shows the same
// inode, times, size, owner and mode as when it was observed, and everything
// else gives the very image that it gave then, then planning would give the
// plan that it gave then. That plan is kept here.
//
//	m := lookcache.Load(state)
//	if m.Is(key) && m.Still(ctx, host, verify) && …the rest gives the same images… { p := m.Plan }
//
// As in statcache the change time decides, since no program can set it, and
// what changed within the clock's grain of the look is not remembered. A memory
// that is lost, damaged or in doubt costs a look and nothing else.
package lookcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"reflect"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/repo"
)

const (
	magic = "FETTLELOOK1\n"
	file  = "/cache/look"
	temp  = "/cache/look.new"
	// grain is how long after a change a path counts as racy, as in statcache.
	grain = 20 * time.Millisecond
	// largest is how much of a file is believed, in bytes.
	largest = 1 << 30
)

// Key is all that a plan depends on besides what is observed. Its stats have no
// access times.
type Key struct {
	Program    string        `json:"program"` // which build plans
	List       string        `json:"list"`    // digest
	Target     string        `json:"target"`
	Revision   repo.Revision `json:"revision"`
	Repository repo.Identity `json:"repository"`
	Repair     bool          `json:"repair"`
	// Run is the run whose state is in force, State what lstat tells of its file.
	Run   int       `json:"run"`
	State host.Stat `json:"state"`
	// Accounts is what lstat tells of passwd and group, which turn names into
	// numbers.
	Accounts [2]host.Stat `json:"accounts"`
}

// Racy tells whether passwd or group changed too short a time before now.
func (k Key) Racy(now time.Time) bool {
	return now.UnixNano()-max(k.Accounts[0].CTime, k.Accounts[1].CTime) < int64(grain)
}

// Rest is a step that no lstat can speak for, with the image that it gave.
type Rest struct {
	Step   string      `json:"step"`
	Source string      `json:"source,omitempty"`
	Image  image.Image `json:"image"`
}

// Memory is one look.
type Memory struct {
	Key Key `json:"key"`
	// Plan is the plan that the look gave, as JSON.
	Plan json.RawMessage `json:"plan"`
	Rest []Rest          `json:"rest,omitempty"`
	// paths has the records that paths.go writes and reads.
	paths []byte
}

// Load reads the memory from a state directory; nil when there is none that can
// be used.
func Load(state host.Reader) *Memory {
	f, err := state.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size > largest {
		return nil
	}
	b := make([]byte, st.Size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	m, _ := decode(b)
	return m
}

// Save keeps the memory in place of an earlier one. It is not made durable:
// what is lost is looked at again.
func (m *Memory) Save(state host.FS) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	if err := state.Mkdir("/cache", 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := state.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := state.Create(temp)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return err
	}
	return state.Rename(temp, file)
}

// encode gives the file: the mark, the length of the JSON part, that part, the
// paths, a checksum.
func (m *Memory) encode() ([]byte, error) {
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the look: %w", err)
	}
	b := make([]byte, 0, len(magic)+4+len(head)+len(m.paths)+4)
	b = le.AppendUint32(append(b, magic...), uint32(len(head)))
	b = append(append(b, head...), m.paths...)
	return le.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))), nil
}

func decode(b []byte) (*Memory, bool) {
	const fixed = len(magic) + 4
	if len(b) < fixed+4 || string(b[:len(magic)]) != magic {
		return nil, false
	}
	body, sum := b[:len(b)-4], le.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return nil, false
	}
	n := int(le.Uint32(body[len(magic):]))
	if n > len(body)-fixed {
		return nil, false
	}
	m := &Memory{}
	if err := json.Unmarshal(body[fixed:fixed+n], m); err != nil {
		return nil, false
	}
	m.paths = body[fixed+n:]
	return m, true
}

// Is tells whether the look was at the same question: the same list, planned
// the same way, against the same state.
func (m *Memory) Is(k Key) bool { return m != nil && m.Key.Same(k) }

// Same tells whether two keys are about the same question.
func (k Key) Same(o Key) bool { return reflect.DeepEqual(k, o) }
