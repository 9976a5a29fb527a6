package content_test

import (
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// Unreferenced content is removed by the second call. Content that is referenced, added again or
// read stays.
func TestSweep(t *testing.T) {
	s := memStore(t, 0)
	add := func(text string) fleet.Bundle {
		b, err := s.Add(func(w io.Writer) error { _, err := io.Copy(w, strings.NewReader(text)); return err })
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	named, gone, again, read := add("named"), add("gone"), add("again"), add("read")
	keep := func(d string) bool { return d == named.Digest }
	if freed, err := s.Sweep(keep); err != nil || freed != 0 {
		t.Fatalf("the first call frees %d, %v", freed, err)
	}
	add("again")
	f, err := s.Open(read)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if freed, err := s.Sweep(keep); err != nil || freed != gone.Size {
		t.Fatalf("%d, %v", freed, err)
	}
	if !s.Has(named) || s.Has(gone) || !s.Has(again) || !s.Has(read) || s.Used() != named.Size+again.Size+read.Size {
		t.Errorf("%v %v %v %v %d", s.Has(named), s.Has(gone), s.Has(again), s.Has(read), s.Used())
	}
	if _, err := s.Sweep(keep); err != nil || s.Has(again) || !s.Has(named) {
		t.Error("what nobody has to do with any more is still there, or what is named is not", err)
	}
	text := make([]byte, 4)
	if _, err := f.ReadAt(text, 0); err != nil || string(text) != "read" {
		t.Errorf("who reads is cut off: %q, %v", text, err)
	}
	add("gone")
	if !s.Has(gone) {
		t.Error("what was removed cannot come back")
	}
}
