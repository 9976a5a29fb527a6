package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"
)

// live returns every object that the retained runs and states refer to, directly or indirectly.
// Lists, plans, state maps and manifests of trees also contain references.
func (s *Store) live(journals, states map[int]bool) (map[string]bool, error) {
	s.Objects.mu.Lock()
	live := maps.Clone(s.fresh)
	s.Objects.mu.Unlock()
	m := marker{s: s, live: live, read: map[string]bool{}}
	for run := range journals {
		if err := m.file(journalPath(run)); err != nil {
			return nil, err
		}
	}
	for run := range states {
		if err := m.file(statePath(run)); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// marker follows references. It searches text for digests without decoding it, so that it also
// finds references in fields of other versions.
type marker struct {
	s    *Store
	live map[string]bool
	read map[string]bool // objects searched for further references
	todo []string
}

// file searches a journal or a state. It may be missing: a run need not have
// left a state.
func (m *marker) file(path string) error {
	b, err := m.s.readAll(path, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m.search(b)
	return m.drain()
}

// drain searches the objects that were found to hold references themselves.
func (m *marker) drain() error {
	for len(m.todo) > 0 {
		digest := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if err := m.object(digest); err != nil {
			return err
		}
	}
	return nil
}

// object searches one object. Missing objects refer to nothing.
func (m *marker) object(digest string) error {
	if m.read[digest] {
		return nil
	}
	m.read[digest] = true
	r, size, err := m.s.Open(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if size > maxJournal {
		return fmt.Errorf("object %s is too large to be searched: %d bytes", digest, size)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m.search(b)
	return nil
}

// holders are the keys whose value is an object with references in it.
func holders() []string { return []string{`"list"`, `"plan"`, `"map"`, `"tree"`} }

// search marks every digest in b.
func (m *marker) search(b []byte) {
	mark := []byte("sha256:")
	for at := 0; ; {
		i := bytes.Index(b[at:], mark)
		if i < 0 {
			return
		}
		i += at
		at = i + len(mark)
		end := min(at+64, len(b))
		digest := string(b[i:end])
		if _, ok := objectPath(digest); !ok {
			continue
		}
		m.live[digest] = true
		if isHolder(b[max(0, i-24):i]) && !m.read[digest] {
			m.todo = append(m.todo, digest)
		}
	}
}

// isHolder checks the text before a digest.
func isHolder(before []byte) bool {
	t := strings.TrimRight(strings.TrimSuffix(string(before), `"`), " ")
	t = strings.TrimRight(strings.TrimSuffix(t, ":"), " ")
	for _, key := range holders() {
		if strings.HasSuffix(t, key) {
			return true
		}
	}
	return false
}
