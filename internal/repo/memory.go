package repo

import (
	"bytes"
	"encoding/hex"
	"sync"
	"time"
)

// Memory is what an earlier look at a repository found, so that a tree that
// stands unchanged is not read again, and of a changed one only what changed.
// Files are known by inode, size and times. The change time decides, since no
// program can set it; what changed within grain before it was looked at could
// change again without its times showing it, and is not remembered. Losing a
// Memory costs only time. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	was   *look                 // nil when there is nothing
	known map[string]remembered // the files of was, by the first question
	next  []byte                // what the last look found, nil when it is was
}

// remembered is one file of a look.
type remembered struct {
	stamp   stamp
	id, sum string // raw bytes
}

// ParseMemory reads what Bytes wrote; the caller vouches that nobody else did.
// Anything else, nil too, gives an empty Memory.
func ParseMemory(b []byte) *Memory { return &Memory{was: parseLook(b)} }

// Bytes gives what the last look found, for ParseMemory; nil when that is what
// was known before.
func (m *Memory) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

// Use makes Recall trust a memory of this repository, and WorkTree and At trust
// it and add to it. One Memory holds one tree: that of the work tree or that of
// a revision. now gives the time.
func (r *Repo) Use(m *Memory, now func() time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory, r.now = m, now
}

// look is what was known before; nil when that is nothing.
func (m *Memory) look() *look {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.was
}

// begin starts a look that finds things out anew.
func (m *Memory) begin() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = nil
	if m.known != nil {
		return
	}
	m.known = map[string]remembered{}
	if m.was == nil || m.was.Asked != "" {
		return
	}
	m.was.each(func(dir string, e entry) bool {
		if (e.kind == kindFile || e.kind == kindExec) && e.stamp.ctime != 0 {
			m.known[joined(dir, e.name)] = remembered{e.stamp, e.id, e.more}
		}
		return true
	})
}

// joined is path.Join for what is clean already.
func joined(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// recall fills in a node whose file is as it was when it was read.
func (m *Memory) recall(n *node, s stamp) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.known[n.Path]
	if !ok || e.stamp != s {
		return false
	}
	n.id, n.digest = hex.EncodeToString([]byte(e.id)), "sha256:"+hex.EncodeToString([]byte(e.sum))
	return true
}

// note takes in what a look has found. Files that were all known before are
// worth writing only when they come with the promise of h.Look.
func (m *Memory) note(h lookHead, traces []trace, folders map[string]stamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !h.Look && !m.news(traces) {
		return
	}
	b := encode(h, traces, folders)
	if m.was != nil && bytes.HasSuffix(b, []byte(m.was.text)) && len(b) == lookStart+len(m.was.text) {
		return
	}
	m.next = b
}

// news tells whether traces hold anything that was not known, or less.
func (m *Memory) news(traces []trace) bool {
	files := 0
	for _, t := range traces {
		if t.node == nil || t.node.Type != File || t.stamp.ctime == 0 {
			continue
		}
		files++
		if e, ok := m.known[t.path]; !ok || e.stamp != t.stamp {
			return true
		}
	}
	return files != len(m.known)
}
