package assignments

import (
	"crypto/ed25519"
	"runtime/debug"
	"testing"
	"unsafe"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Assignments that are read from the store share memory.
func TestAssignmentRecordsAreShared(t *testing.T) {
	// Shared values are held weakly: a garbage collection between two reads may separate them.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, key)
	read := func(name string, parts int) fleet.Assignment {
		t.Helper()
		a := large(parts)
		a.Name, a.Labels = name, map[string]string{"role": "web"}
		d, err := fleet.SignPayload(a.Marshal(), fleet.AssignmentType, key)
		if err != nil {
			t.Fatal(err)
		}
		var p records.Packer
		b, err := p.Pack(records.Assignment{Fence: 7, Signatures: []fleet.Signature{d}, Assignment: a})
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Parse(b)
		if err != nil || !g.Assignment.Same(a) {
			t.Fatalf("%+v, %v", g.Assignment, err)
		}
		return g.Assignment
	}
	a, b, other := read("a", 5), read("b", 5), read("c", 4)
	at := func(text string) *byte { return unsafe.StringData(text) }
	if &a.Modules[0] != &b.Modules[0] || at(a.Root.Bundle.Digest) != at(b.Root.Bundle.Digest) ||
		at(a.Root.Revision.Commit) != at(b.Root.Revision.Commit) || at(a.Format) != at(b.Format) {
		t.Error("what two have in common lies twice in memory")
	}
	if len(other.Modules) != 4 || other.Name != "c" {
		t.Errorf("%+v", other)
	}
}
