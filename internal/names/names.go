// Package names turns account names of a host into numbers and back, from the
// host's own files, read once until told to forget.
//
//	n := names.New(h)
//	uid, err := n.UID("www-data")
package names

import (
	"bufio"
	"bytes"
	"io"
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
	uid, gid        map[string]uint32
	userOf, groupOf map[uint32]string
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
	if n.t == nil {
		n.t = &tables{}
		n.t.uid, n.t.userOf = read(n.r, "/etc/passwd")
		n.t.gid, n.t.groupOf = read(n.r, "/etc/group")
	}
	return n.t
}

// read takes names and numbers from passwd(5) or group(5): fields one and
// three. A missing file or a damaged line gives no names.
func read(r host.Reader, path string) (map[string]uint32, map[uint32]string) {
	byName, byNumber := map[string]uint32{"root": 0}, map[uint32]string{0: "root"}
	f, err := r.Open(path)
	if err != nil {
		return byName, byNumber
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return byName, byNumber
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
		if _, ok := byName[fields[0]]; !ok {
			byName[fields[0]] = uint32(v)
		}
		if _, ok := byNumber[uint32(v)]; !ok {
			byNumber[uint32(v)] = fields[0]
		}
	}
	return byName, byNumber
}

// UID implements verb.Names. A number stands for itself.
func (n *Names) UID(name string) (uint32, error) { return find(n.tables().uid, "user", name) }

// GID implements verb.Names. A number stands for itself.
func (n *Names) GID(name string) (uint32, error) { return find(n.tables().gid, "group", name) }

func find(m map[string]uint32, what, name string) (uint32, error) {
	if v, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(v), nil
	}
	if v, ok := m[name]; ok {
		return v, nil
	}
	return 0, &verb.UnknownNameError{What: what, Name: name}
}

// UserName implements verb.Names.
func (n *Names) UserName(uid uint32) string { return nameOf(n.tables().userOf, uid) }

// GroupName implements verb.Names.
func (n *Names) GroupName(gid uint32) string { return nameOf(n.tables().groupOf, gid) }

func nameOf(m map[uint32]string, v uint32) string {
	if s, ok := m[v]; ok {
		return s
	}
	return strconv.FormatUint(uint64(v), 10)
}
