// Package names turns account names of a host into numbers and back, from the
// host's own files, read once until told to forget.
//
//	n := names.New(h)
//	uid, err := n.UID("www-data")
package names

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/verb"
)

// Names is safe for concurrent use.
type Names struct {
	r  host.Reader
	mu sync.Mutex
	t  *tables // nil: to be read
}

type tables struct {
	users, groups table
}

// table is one file. err is why it could not be read: it is not kept then.
type table struct {
	byName   map[string]uint32
	byNumber map[uint32]string
	err      error
}

// New reads nothing yet.
func New(r host.Reader) *Names { return &Names{r: r} }

// Forget makes the next question read the files again.
func (n *Names) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.t = nil
}

func (n *Names) tables() *tables {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.t != nil {
		return n.t
	}
	t := &tables{users: read(n.r, "/etc/passwd"), groups: read(n.r, "/etc/group")}
	if t.users.err == nil && t.groups.err == nil {
		n.t = t
	}
	return t
}

// read takes names and numbers from passwd(5) or group(5): fields one and
// three. A missing file or a damaged line gives no names.
func read(r host.Reader, path string) table {
	t := table{byName: map[string]uint32{"root": 0}, byNumber: map[uint32]string{0: "root"}}
	text, err := readFile(r, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.err = fmt.Errorf("cannot read %q: %w", path, err)
	}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		fields := strings.Split(sc.Text(), ":")
		if len(fields) < 3 {
			continue
		}
		v, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		if _, ok := t.byName[fields[0]]; !ok {
			t.byName[fields[0]] = uint32(v)
		}
		if _, ok := t.byNumber[uint32(v)]; !ok {
			t.byNumber[uint32(v)] = fields[0]
		}
	}
	return t
}

func readFile(r host.Reader, path string) ([]byte, error) {
	f, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// UID implements verb.Names. A number is returned unchanged.
func (n *Names) UID(name string) (uint32, error) { return find(n.tables().users, "user", name) }

// GID implements verb.Names. A number is returned unchanged.
func (n *Names) GID(name string) (uint32, error) { return find(n.tables().groups, "group", name) }

func find(t table, what, name string) (uint32, error) {
	if v, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(v), nil
	}
	if v, ok := t.byName[name]; ok {
		return v, nil
	}
	if t.err != nil {
		return 0, fmt.Errorf("cannot find the %s %q: %w", what, name, t.err)
	}
	return 0, &verb.UnknownNameError{What: what, Name: name}
}

// Users are the names of all users, sorted.
func (n *Names) Users() []string { return slices.Sorted(maps.Keys(n.tables().users.byName)) }

// Groups are the names of all groups, sorted.
func (n *Names) Groups() []string { return slices.Sorted(maps.Keys(n.tables().groups.byName)) }

// UserName implements verb.Names.
func (n *Names) UserName(uid uint32) string { return nameOf(n.tables().users.byNumber, uid) }

// GroupName implements verb.Names.
func (n *Names) GroupName(gid uint32) string { return nameOf(n.tables().groups.byNumber, gid) }

func nameOf(m map[uint32]string, v uint32) string {
	if s, ok := m[v]; ok {
		return s
	}
	return strconv.FormatUint(uint64(v), 10)
}
