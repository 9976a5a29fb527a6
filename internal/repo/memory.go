package repo

import (
	"bytes"
	"encoding/hex"
	"sync"
	"time"
)

// Memory is the result of an earlier look at a repository. An unchanged tree is not read again, and
// only the changed parts of a changed tree are read. Files are identified by inode, size and times.
// The change time decides, because no program can set it. A file that changed within grain before
// the look could change again with the same times, and is not recorded. Losing a Memory costs only
// time. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	was   *look                 // nil if empty
	known map[string]remembered // the files of was, after the first query
	next  []byte                // the result of the last look, nil if it equals was
}

// remembered is one file of a look.
type remembered struct {
	stamp   stamp
	id, sum string // raw bytes
}

// ParseMemory reads the output of Bytes; the caller must ensure that it was not forged. Any other
// input, also nil, gives an empty Memory.
func ParseMemory(b []byte) *Memory { return &Memory{was: parseLook(b)} }

// Bytes returns the result of the last look, for ParseMemory; nil if it equals the earlier result.
func (m *Memory) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

// Use makes Recall trust a memory of this repository, and makes WorkTree and At trust and extend
// it. One Memory has one tree: of the work tree or of a revision. now returns the time.
func (r *Repo) Use(m *Memory, now func() time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory, r.now = m, now
}

// look returns the earlier look; nil if there is none.
func (m *Memory) look() *look {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.was
}

// begin starts a new look.
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

// joined is path.Join for clean arguments.
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

// note records the result of a look. If all files were already known, the record is written only if
// h.Look is set.
func (m *Memory) note(h lookHead, traces []trace, directories map[string]stamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !h.Look && !m.news(traces) {
		return
	}
	b := encode(h, traces, directories)
	if m.was != nil && bytes.HasSuffix(b, []byte(m.was.text)) && len(b) == lookStart+len(m.was.text) {
		return
	}
	m.next = b
}

// news reports whether traces differ from the known files.
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
