package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

const (
	keysDir = "/keys"
	maxKey  = 16 << 20 // bytes
)

// SaveKey stores a small file by name beside the journal, durably: an encrypted key, or data that
// is sealed with a key. Unchanged content is not written again.
func (s *Store) SaveKey(name string, b []byte) error {
	if was, err := s.Key(name); err == nil && bytes.Equal(was, b) {
		return nil
	}
	if err := s.fs.Mkdir(keysDir, 0o700); err == nil {
		if err := s.fs.SyncDir("/"); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.replace(keysDir+"/"+name, b)
}

// Key returns the content that SaveKey stored; the error contains fs.ErrNotExist if there is none
// with that name.
func (s *Store) Key(name string) ([]byte, error) {
	b, err := s.readAll(keysDir+"/"+name, maxKey)
	if err != nil {
		return nil, fmt.Errorf("cannot read the stored key %q: %w", name, err)
	}
	return b, nil
}

// Keys returns the names of SaveKey's files, sorted; none if they cannot be listed.
func (s *Store) Keys() []string {
	names, err := s.fs.ReadDir(keysDir)
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range names {
		if !strings.HasSuffix(n, ".tmp") {
			out = append(out, n)
		}
	}
	return out
}
