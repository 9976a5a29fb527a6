package journal_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// opened is a file system that knows which files are open.
type opened struct {
	*mem.FS
	files map[string]int
}

func (o *opened) note(path string, f host.File, err error) (host.File, error) {
	if err != nil {
		return f, err
	}
	o.files[path]++
	return &openedFile{File: f, close: func() {
		if o.files[path]--; o.files[path] == 0 {
			delete(o.files, path)
		}
	}}, nil
}

func (o *opened) Open(path string) (host.File, error) {
	f, err := o.FS.Open(path)
	return o.note(path, f, err)
}

func (o *opened) OpenWrite(path string) (host.File, error) {
	f, err := o.FS.OpenWrite(path)
	return o.note(path, f, err)
}

func (o *opened) Create(path string) (host.File, error) {
	f, err := o.FS.Create(path)
	return o.note(path, f, err)
}

type openedFile struct {
	host.File
	close func()
}

func (f *openedFile) Close() error {
	f.close()
	return f.File.Close()
}

// TestNothingStaysOpen: after every operation only packs stay open, each once, so that an agent
// that runs for years does not run out of files.
func TestNothingStaysOpen(t *testing.T) {
	world, loose, packed := readWorld(t)
	for name, ask := range map[string]func(s *journal.Store) error{
		"runs":           func(s *journal.Store) error { _, err := s.Runs(); return err },
		"a state":        func(s *journal.Store) error { _, err := s.State(); return err },
		"a state's mark": func(s *journal.Store) error { _, _, err := s.StateMark(); return err },
		"a journal":      func(s *journal.Store) error { _, err := s.Read(2); return err },
		"an object":      func(s *journal.Store) error { _, err := s.ReadObject(loose); return err },
		"a packed one": func(s *journal.Store) error {
			_, err := s.ReadObject(packed)
			return errors.Join(err, s.Verify(packed))
		},
		"verifying": func(s *journal.Store) error { return errors.Join(s.Verify(loose), s.Verify(packed)) },
		"putting": func(s *journal.Store) error {
			_, err := s.PutBytes([]byte("new"))
			_, again := s.PutBytes([]byte("loose"))
			_, _, large := s.Put(strings.NewReader(strings.Repeat("large", 300_000)))
			return errors.Join(err, again, large, s.SyncObjects())
		},
		"packing": func(s *journal.Store) error {
			s.Pack(true)
			_, err := s.PutBytes([]byte("new"))
			return errors.Join(err, s.SyncObjects())
		},
		"settings": func(s *journal.Store) error {
			_, err := s.Frozen()
			return errors.Join(err, s.EnsureBallast(), s.Freeze(journal.Frozen{}))
		},
		"resuming": func(s *journal.Store) error {
			j, _, err := s.Resume(3)
			return errors.Join(err, j.Append(move(9)), j.Sync(), j.Close())
		},
		"refusing": func(s *journal.Store) error {
			if _, err := s.Begin(header(4, 2)); err == nil {
				return errors.New("a second run began")
			}
			return nil
		},
		"collecting": func(s *journal.Store) error { _, err := s.Collect(journal.Retention{Runs: 1}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := &opened{FS: world.CrashClone(rand.New(rand.NewPCG(1, 1))), files: map[string]int{}}
			s := open(t, fsys)
			check(t, ask(s))
			maps.DeleteFunc(fsys.files, func(path string, n int) bool { return strings.HasSuffix(path, ".pack") && n == 1 })
			if len(fsys.files) > 0 {
				t.Errorf("open: %v", fsys.files)
			}
		})
	}
}

// TestGivenUpPackIsClosed: a pack that could not be made durable is not kept
// open.
func TestGivenUpPackIsClosed(t *testing.T) {
	disk := mem.NewFS(mem.Options{})
	fail := false
	fsys := &opened{FS: disk.Counted(func(op, _ string) error {
		if fail && op == host.OpSync {
			return errors.New("disk on fire")
		}
		return nil
	}), files: map[string]int{}}
	s := open(t, fsys)
	s.Pack(true)
	must(s.PutBytes([]byte("object")))(t)
	if fail = true; s.SyncObjects() == nil || len(fsys.files) > 0 {
		t.Errorf("open: %v", fsys.files)
	}
}
