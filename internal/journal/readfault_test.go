package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func largeText() []byte { return bytes.Repeat([]byte("large"), 215_000) } // too large for the path through memory

// readWorld has three runs, the last of them open, loose and packed objects, and
// every setting.
func readWorld(t *testing.T) (fsys *mem.FS, loose, packed string) {
	t.Helper()
	fsys = mem.NewFS(mem.Options{})
	s := open(t, fsys)
	loose = must(s.PutBytes([]byte("loose")))(t)
	check(t, s.SyncObjects())
	packed = fill(t, s, 1, 40)[3]
	finish(t, s, 1, 0, 2)
	finish(t, s, 2, 1, 2)
	check(t, s.Freeze(journal.Frozen{By: "ann"}))
	check(t, s.Arm(journal.Arming{Run: 2, Deadline: 7}))
	j := must(s.Begin(header(3, 2)))(t)
	check(t, errors.Join(j.Append(move(1), move(2)), j.Sync(), j.Close()))
	return fsys, loose, packed
}

func say(v any, err error) (string, error) { return fmt.Sprintf("%+v", v), err }

// TestErrorAtEveryLook: every read error is reported or makes no difference. It never counts as a
// missing file.
func TestErrorAtEveryLook(t *testing.T) {
	fsys, loose, packed := readWorld(t)
	copied := func(s *journal.Store, digest string) (string, error) {
		dst := must(s.FS().Create("/copy"))(t)
		err := s.CopyTo(digest, dst)
		check(t, dst.Close())
		if err == nil && journal.DigestOf(content(t, s.FS().(*fault.Looks).FS.(*mem.FS), "/copy")) != digest {
			err = errors.New("the copy differs")
		}
		return "", err
	}
	for name, ask := range map[string]func(s *journal.Store) (string, error){
		"opening": func(s *journal.Store) (string, error) { _, err := journal.Open(s.FS()); return "", err },
		"runs":    func(s *journal.Store) (string, error) { return say(s.Runs()) },
		"unfinished": func(s *journal.Store) (string, error) {
			run, ok, err := s.Unfinished()
			return fmt.Sprint(run, ok), err
		},
		"the next run":   func(s *journal.Store) (string, error) { return say(s.NextRun()) },
		"the state":      func(s *journal.Store) (string, error) { return say(s.State()) },
		"an older state": func(s *journal.Store) (string, error) { return say(s.StateAt(1)) },
		"the freeze": func(s *journal.Store) (string, error) {
			f, err := s.Frozen()
			return fmt.Sprint(f != nil && f.By == "ann"), err
		},
		"the arming": func(s *journal.Store) (string, error) {
			a, err := s.ArmedRun()
			return fmt.Sprint(a != nil && a.Run == 2), err
		},
		"a journal": func(s *journal.Store) (string, error) {
			recs, err := s.Read(2)
			return fmt.Sprint(len(recs)), err
		},
		"a loose object":   func(s *journal.Store) (string, error) { b, err := s.ReadObject(loose); return string(b), err },
		"a packed object":  func(s *journal.Store) (string, error) { b, err := s.ReadObject(packed); return string(b), err },
		"copy of a loose":  func(s *journal.Store) (string, error) { return copied(s, loose) },
		"copy of a packed": func(s *journal.Store) (string, error) { return copied(s, packed) },
		"collection": func(s *journal.Store) (string, error) {
			return say(s.Collect(journal.Retention{Runs: 1, DryRun: true}))
		},
		"resuming": func(s *journal.Store) (string, error) {
			j, recs, err := s.Resume(3)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(recs)), errors.Join(j.Append(move(3)), j.Sync(), j.Close())
		},
		"beginning": func(s *journal.Store) (string, error) {
			_, err := s.Begin(header(4, 2))
			var open *journal.UnfinishedError
			if errors.As(err, &open) {
				return fmt.Sprint("refused for ", open.Run), nil
			}
			return "", err
		},
		"putting the same": func(s *journal.Store) (string, error) {
			s.Pack(true)
			digest, err := s.PutBytes(packedText(4))
			return digest, errors.Join(err, s.SyncObjects())
		},
	} {
		t.Run(name, func(t *testing.T) { everyLook(t, fsys, ask) })
	}
}

// TestErrorAtEveryLookAtALargeObject: the same for large content, which is not read into memory.
func TestErrorAtEveryLookAtALargeObject(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	large, _, err := s.Put(bytes.NewReader(largeText()))
	check(t, errors.Join(err, s.SyncObjects()))
	for name, ask := range map[string]func(s *journal.Store) (string, error){
		"verifying": func(s *journal.Store) (string, error) { return "", s.Verify(large) },
		"copying": func(s *journal.Store) (string, error) {
			dst := must(s.FS().Create("/copy"))(t)
			err := s.CopyTo(large, dst)
			check(t, dst.Close())
			return journal.DigestOf(content(t, s.FS().(*fault.Looks).FS.(*mem.FS), "/copy")), err
		},
		"putting it again": func(s *journal.Store) (string, error) {
			digest, n, err := s.Put(bytes.NewReader(largeText()))
			return fmt.Sprint(digest, n), errors.Join(err, s.SyncObjects())
		},
	} {
		t.Run(name, func(t *testing.T) { everyLook(t, fsys, ask) })
	}
}

// everyLook asks once for each look that the answer takes, and lets that fail.
func everyLook(t *testing.T, fsys *mem.FS, ask func(s *journal.Store) (string, error)) {
	t.Helper()
	want := ""
	for at := 0; ; at++ {
		l := &fault.Looks{FS: fsys.CrashClone(rand.New(rand.NewPCG(1, 1)))}
		s := open(t, l)
		looked := l.Seen()
		if at > 0 {
			l.At = looked + at
		}
		got, err := ask(s)
		if at == 0 {
			if want = got; err != nil {
				t.Fatal(err)
			}
			continue
		}
		if l.Hit() == "" {
			return
		}
		if err == nil && got != want {
			t.Errorf("the %s fails and nobody is told: %.200s\nwant %.200s", l.Hit(), got, want)
		}
	}
}
