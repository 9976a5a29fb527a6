package content

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Sweep removes what keep did not name at this call and at the one before, and what nobody
// added or opened in between: so what is just being made, or read, has the time between two
// calls to be named. The first call of a process removes nothing. A crash leaves what was
// not removed yet.
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
			return freed, fmt.Errorf("cannot remove content that nobody needs: %w", err)
		}
		freed += s.have[digest]
		delete(s.have, digest)
		delete(s.verified, digest)
	}
	s.swept = marks
	return freed, nil
}

// wanted notes that somebody has to do with some content.
func (s *Store) wanted(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.swept, digest)
}
