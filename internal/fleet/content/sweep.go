package content

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Sweep removes content that keep refused in this call and in the previous one, and that was
// neither added nor opened in between. New content therefore has the time between two calls to be
// referenced. The first call of a process removes nothing. After a crash, the rest is removed by
// later calls.
func (s *Store) Sweep(keep func(digest string) bool) (freed int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := map[string]bool{}
	for _, digest := range slices.Sorted(maps.Keys(s.have)) {
		if _, busy := s.busy[digest]; busy || keep(digest) {
			continue
		}
		if !s.swept[digest] {
			marks[digest] = true
			continue
		}
		if err := s.fs.Remove(s.path(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return freed, fmt.Errorf("cannot remove unused content: %w", err)
		}
		freed += s.have[digest]
		delete(s.have, digest)
		delete(s.verified, digest)
	}
	s.swept = marks
	return freed, nil
}

// wanted records that content is in use.
func (s *Store) wanted(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.swept, digest)
}
