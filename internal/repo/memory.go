package repo

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is what earlier looks at a work tree found in its files, so that a
// file whose inode, size and times are as they were then is not read again.
// The change time decides, since no program can set it; a file that changed
// within grain before it was read could change again without its times showing
// it, and is not remembered. Losing a Memory costs only reading. It is safe for
// concurrent use.
type Memory struct {
	mu    sync.Mutex
	known map[string]remembered
	used  map[string]remembered // by the last look
	fresh bool                  // used has something that known had not
}

// remembered is one file. The fields are exported for encoding/gob.
type remembered struct {
	Dev, Ino     uint64
	Size         int64
	MTime, CTime int64 // ns since 1970
	ID, Sum      []byte
}

// grain is how long after a change a file counts as too young to be sure of:
// above the kernel's tick and what file systems round times to.
const grain = 20 * time.Millisecond

// ParseMemory reads what Bytes wrote; the caller vouches that nobody else did.
// Anything else, nil too, gives an empty Memory.
func ParseMemory(b []byte) *Memory {
	m := &Memory{known: map[string]remembered{}}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&m.known); err != nil {
		m.known = map[string]remembered{}
	}
	return m
}

// Bytes gives what the last look at the work tree found, for ParseMemory; nil
// when that is what was known before.
func (m *Memory) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil || !m.fresh && len(m.used) == len(m.known) {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m.used); err != nil {
		return nil
	}
	return b.Bytes()
}

// Use makes WorkTree trust a memory of this repository and add to it. now
// gives the time.
func (r *Repo) Use(m *Memory, now func() time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory, r.now = m, now
}

// begin starts a look.
func (m *Memory) begin() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used, m.fresh = make(map[string]remembered, len(m.known)), false
}

// recall fills in a node whose file is as it was when it was read.
func (m *Memory) recall(n *node, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if m == nil || !ok {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.known[n.Path]
	if !ok || !e.same(st) {
		return false
	}
	n.id, n.digest = hex.EncodeToString(e.ID), "sha256:"+hex.EncodeToString(e.Sum)
	m.used[n.Path] = e
	return true
}

// learn remembers a node that was read, when its file was old enough before.
func (m *Memory) learn(n *node, info fs.FileInfo, began time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if m == nil || !ok || began.UnixNano()-st.Ctim.Nano() < int64(grain) {
		return
	}
	id, err1 := hex.DecodeString(n.id)
	sum, err2 := hex.DecodeString(strings.TrimPrefix(n.digest, "sha256:"))
	if err1 != nil || err2 != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[n.Path] = remembered{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano(), id, sum}
	m.fresh = true
}

func (e remembered) same(st *syscall.Stat_t) bool {
	return e.Dev == uint64(st.Dev) && e.Ino == st.Ino && e.Size == st.Size && e.MTime == st.Mtim.Nano() && e.CTime == st.Ctim.Nano()
}
