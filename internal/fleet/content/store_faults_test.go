package content_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// TestStoreNamesEachFault: for a failure of any operation of the disk, the error names it, nothing
// is acknowledged, the same operation succeeds afterwards, and no reserved space is lost.
func TestStoreNamesEachFault(t *testing.T) {
	old, second := nameOf("old"), nameOf("second")
	fetch := func(s *content.Store, text string) error {
		p, err := s.Begin(second)
		if err != nil {
			return err
		}
		_, err = io.WriteString(p, text[p.Offset():])
		if err == nil {
			err = p.Commit()
		}
		return errors.Join(err, p.Close())
	}
	for what, work := range map[string]func(s *content.Store) error{
		"add":       func(s *content.Store) error { _, err := add(s, "second"); return err },
		"add again": func(s *content.Store) error { _, err := add(s, "old"); return err },
		"read":      func(s *content.Store) error { _, err := s.Read(old, 9); return err },
		"remove":    func(s *content.Store) error { return s.Remove(old) },
		"fetch":     func(s *content.Store) error { return fetch(s, "second") },
		"a beginning that is too long": func(s *content.Store) error {
			p, err := s.Begin(fleet.Bundle{Digest: second.Digest, Size: 9})
			if err != nil {
				return err
			}
			_, err = io.WriteString(p, "12345678"[p.Offset():])
			if err = errors.Join(err, p.Close()); err != nil {
				return err
			}
			if p, err = s.Begin(second); err != nil {
				return err
			}
			return p.Close()
		},
		"a beginning too many": func(s *content.Store) error {
			for i := range 17 {
				p, err := s.Begin(fleet.Bundle{Digest: nameOf(strings.Repeat("x", i)).Digest, Size: 1})
				if err == nil {
					err = p.Close()
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		"restart": func(s *content.Store) error {
			p, err := s.Begin(second)
			if err != nil {
				return err
			}
			return errors.Join(p.Restart(), p.Close())
		},
		"a bundle that is damaged": func(s *content.Store) error {
			_, err := s.Open(nameOf("damaged"))
			if errors.Is(err, fleet.ErrNotFound) && !errors.Is(err, errDisk) {
				return nil
			}
			return err
		},
	} {
		for n := 1; ; n++ {
			d := newDisk(t)
			s, err := content.OpenStore(d, "/content", 100)
			if err != nil {
				t.Fatal(err)
			}
			d.seen, d.n = 0, n
			err = work(s)
			if d.seen < n {
				if err != nil || n == 1 {
					t.Errorf("%s: %d operations, without a fault: %v", what, n-1, err)
				}
				break
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("%s: operation %d failed, and the error is %v", what, n, err)
			}
			if err := work(s); err != nil {
				t.Errorf("%s, again after operation %d: %v", what, n, err)
			}
			again, err := content.OpenStore(d, "/content", 100)
			if err != nil || again.Used() != s.Used() {
				t.Errorf("%s, operation %d: %d bytes are counted, %d exist: %v", what, n, s.Used(), again.Used(), err)
			}
		}
	}
}

// TestRepairOnABadDisk: damaged content is replaced whole or not at all, and the error names each fault, except if
// only the removal of the damaged file failed.
func TestRepairOnABadDisk(t *testing.T) {
	for n := 1; ; n++ {
		d := newDisk(t)
		s, err := content.OpenStore(d, "/content", 0)
		if err != nil {
			t.Fatal(err)
		}
		d.seen, d.n = 0, n
		_, err = add(s, "damaged")
		if d.seen < n {
			return
		}
		if err != nil && !errors.Is(err, errDisk) || err == nil &&
			(read(t, s, nameOf("damaged")) != "damaged" || !s.Has(nameOf("damaged"))) {
			t.Errorf("operation %d: %v", n, err)
		}
		if mustAdd(t, s, "damaged"); !s.Has(nameOf("damaged")) {
			t.Errorf("operation %d: it does not heal", n)
		}
	}
}

// TestOpeningNamesEachFault: a store does not open on a disk that fails, and removes the file of a stopped process.
func TestOpeningNamesEachFault(t *testing.T) {
	for n := 1; ; n++ {
		d := newDisk(t)
		d.n = n
		s, err := content.OpenStore(d, "/content", 0)
		if d.seen < n {
			if _, gone := d.Lstat("/content/new/7"); err != nil || gone == nil || read(t, s, nameOf("old")) != "old" {
				t.Errorf("without a fault: %v, %v", err, gone)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("operation %d failed, and the error is %v", n, err)
		}
	}
}

// TestRemovalNamesEachFault: a sweep or a collection that a disk stops frees the rest the next time.
func TestRemovalNamesEachFault(t *testing.T) {
	none := func(string) bool { return false }
	for what, work := range map[string]func(s *content.Store) (int64, error){
		"sweep":   func(s *content.Store) (int64, error) { return s.Sweep(none) },
		"collect": func(s *content.Store) (int64, error) { return s.Collect(none, 100) },
	} {
		hit := 0
		for n := 1; n < 9; n++ {
			d := newDisk(t)
			s, err := content.OpenStore(d, "/content", 100)
			if err == nil {
				_, err = s.Sweep(none)
			}
			if err != nil {
				t.Fatal(err)
			}
			d.seen, d.n = 0, n
			first, err := work(s)
			if err != nil && !errors.Is(err, errDisk) {
				t.Errorf("%s, operation %d: %v", what, n, err)
			}
			if err != nil {
				hit++
			}
			second, err := work(s)
			if what == "sweep" && first+second < 10 {
				var third int64
				third, err = work(s) // content that a sweep did not reach has two more calls
				second += third
			}
			if err != nil || first+second != 10 || s.Used() != 0 {
				t.Errorf("%s, operation %d: freed %d and %d of 10 bytes, %d are left: %v", what, n, first, second, s.Used(), err)
			}
		}
		if hit != 2 {
			t.Errorf("%s: %d faults of 2 removals are reported", what, hit)
		}
	}
}
