package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// choosePacks chooses the packs to remove, at once or after their live content has been written
// again. It never chooses the current pack of this process.
func (s *Objects) choosePacks(d *doomed, live map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadPacks(); err != nil {
		return err
	}
	type sum struct{ live, dead int64 }
	sums := map[int]*sum{}
	var dead []string
	for digest, pl := range s.packs.at {
		if w := s.packs.cur; w != nil && w.number == pl.pack {
			continue
		}
		if sums[pl.pack] == nil {
			sums[pl.pack] = &sum{}
		}
		if live[digest] {
			sums[pl.pack].live += int64(pl.length)
		} else {
			sums[pl.pack].dead += int64(pl.length)
			dead = append(dead, digest)
		}
	}
	goes := map[int]bool{}
	for n, x := range sums {
		if goes[n] = x.dead > x.live; goes[n] {
			d.packs = append(d.packs, n)
			d.bytes += x.dead
		}
	}
	slices.Sort(d.packs)
	for _, digest := range dead {
		if goes[s.packs.at[digest].pack] {
			d.packed = append(d.packed, digest)
		}
	}
	slices.Sort(d.packed)
	return nil
}

// removePacks writes the live content of the chosen packs again, syncs it, and removes the packs.
func (s *Objects) removePacks(d doomed) error {
	if len(d.packs) == 0 {
		return nil
	}
	dead := map[string]bool{}
	for _, digest := range d.packed {
		dead[digest] = true
	}
	if err := s.rewrite(d.packs, dead); err != nil {
		return err
	}
	for _, n := range d.packs {
		if err := s.dropFiles(n, dead); err != nil {
			return err
		}
	}
	return s.fs.SyncDir(packDir)
}

func (s *Objects) rewrite(from []int, dead map[string]bool) error {
	s.mu.Lock()
	var move []string
	for digest, pl := range s.packs.at {
		if slices.Contains(from, pl.pack) && !dead[digest] {
			move = append(move, digest)
		}
	}
	s.mu.Unlock()
	slices.Sort(move)
	for _, digest := range move {
		r, ok, err := s.openPacked(digest)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("cannot pack object %s again: it is in no pack", digest)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if DigestOf(b) != digest {
			return &DamagedError{Digest: digest}
		}
		s.mu.Lock()
		err = s.putPacked(digest, b)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return s.SyncObjects()
}

func (s *Objects) dropFiles(n int, dead map[string]bool) error {
	s.mu.Lock()
	if f, ok := s.packs.files[n]; ok {
		_ = f.Close()
		delete(s.packs.files, n)
	}
	for digest, pl := range s.packs.at {
		if pl.pack == n {
			delete(s.packs.at, digest)
			delete(s.known, digest)
		}
	}
	s.mu.Unlock()
	if err := s.removeOne(indexPath(n)); err != nil {
		return err
	}
	return s.removeOne(packPath(n))
}

func (s *Objects) removeOne(path string) error {
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// doomed is the set of files that a collection removes.
type doomed struct {
	runs     []int // listed runs, ascending
	journals []int
	states   []int
	objects  []string // digests of objects in separate files
	packed   []string // digests of objects in removed packs
	packs    []int    // packs to remove
	temps    []string // paths left by crashes
	bytes    int64    // of the objects
}
