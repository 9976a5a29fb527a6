// Package lookcache stores the last observation of a complete host that found nothing to do. The next
// plan then needs only one lstat per path.
//
// A plan is a pure function of the list, the applied state and the observed state. The stored plan is
// valid under three conditions. The list and the applied state are unchanged. Each path has the same
// inode, times, size, owner and mode. All other addresses have the same images.
//
//	m := lookcache.Load(state)
//	if m.Is(key) && m.Still(ctx, host, verify) && …the rest gives the same images… { p := m.Plan }
//
// As in statcache, the change time is decisive, because programs cannot set it. A path that changed
// within the resolution of the clock before the observation is not stored. If the file is lost or
// damaged, the host is observed again.
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
	"fettle.dev/fettle/internal/step"
)

const (
	magic = "FETTLELOOK1\n"
	file  = "/cache/look"
	temp  = "/cache/look.new"
	// grain is the time after a change in which a path counts as racy, as in statcache.
	grain = 20 * time.Millisecond
	// largest is the maximum size of the file in bytes; a larger file is ignored.
	largest = 1 << 30
)

// Key contains all inputs of a plan except the observed state. Its stats have no access times.
type Key struct {
	Program    string        `json:"program"` // the build of fettle that plans
	List       string        `json:"list"`    // digest
	Target     string        `json:"target"`
	Revision   repo.Revision `json:"revision"`
	Repository repo.Identity `json:"repository"`
	Repair     bool          `json:"repair"`
	// Run is the run of the applied state, and State is the lstat of its file.
	Run   int       `json:"run"`
	State host.Stat `json:"state"`
	// Accounts are the lstat of passwd and group, which convert names to numbers.
	Accounts [2]host.Stat `json:"accounts"`
}

// Racy reports whether passwd or group changed too shortly before now.
func (k Key) Racy(now time.Time) bool {
	return now.UnixNano()-max(k.Accounts[0].CTime, k.Accounts[1].CTime) < int64(grain)
}

// Rest is a step that lstat cannot verify, with its observed image.
type Rest struct {
	Step   step.Step   `json:"step"`
	Source string      `json:"source,omitempty"`
	Image  image.Image `json:"image"`
}

// Memory is one stored observation.
type Memory struct {
	Key Key `json:"key"`
	// Plan is the resulting plan as JSON.
	Plan json.RawMessage `json:"plan"`
	Rest []Rest          `json:"rest,omitempty"`
	// paths contains the records of paths.go.
	paths []byte
}

// Load reads the observation from a state directory. It returns nil if there is no valid one.
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

// Save replaces the stored observation. It does not sync it to the disk.
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

// encode returns the content of the file: the mark, the length of the JSON part, this part, the paths,
// a checksum.
func (m *Memory) encode() ([]byte, error) {
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot cache the observed state: %w", err)
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

// Is reports whether the observation has the same inputs: the same list, options and applied state.
func (m *Memory) Is(k Key) bool { return m != nil && m.Key.Same(k) }

// Same reports whether two keys are equal.
func (k Key) Same(o Key) bool { return reflect.DeepEqual(k, o) }
