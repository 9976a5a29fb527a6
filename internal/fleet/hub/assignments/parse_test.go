package assignments

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// large returns an assignment with n modules.
func large(modules int) fleet.Assignment {
	digest := func(n int) string { return fmt.Sprintf("sha256:%064x", n*7919) }
	rev := fleet.Revision{Repository: "site", Commit: strings.Repeat("c", 40), Subject: "a commit", Branch: "main"}
	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Epoch: 1,
		Generation: 2, Issued: 3, Root: fleet.Assigned{Revision: rev, Bundle: fleet.Bundle{Digest: digest(1), Size: 1}}}
	for i := range modules {
		a.Modules = append(a.Modules, fleet.Assigned{Module: fmt.Sprintf("modules/m%d", i), Revision: rev,
			Bundle: fleet.Bundle{Digest: digest(i + 2), Size: 100}, Proof: &fleet.Bundle{Digest: digest(i + 1000), Size: 9}})
	}
	return a
}

// TestAssignmentRecord: a stored assignment is small, has the envelope that was signed, and is
// refused if another key signed it.
func TestAssignmentRecord(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := large(50)
	signature, err := fleet.SignPayload(a.Marshal(), fleet.AssignmentType, key)
	if err != nil {
		t.Fatal(err)
	}
	var p records.Packer
	s := newStore(t, key)
	for range 2 { // the second one with pooled compressors
		b, err := p.Pack(records.Assignment{Fence: 7, Signatures: []fleet.Signature{signature}, Assignment: a})
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 6<<10 {
			t.Errorf("50 modules take %d bytes", len(b))
		}
		g, err := s.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.Envelope(); err != nil || !bytes.Equal(got, want) || g.Fence != 7 || !g.Assignment.Same(a) {
			t.Errorf("read back: fence %d, %v\n%s\nwant\n%s", g.Fence, err, got, want)
		}
	}
	b, err := p.Pack(records.Assignment{Signatures: []fleet.Signature{signature}, Assignment: large(49)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Parse(b); !errors.Is(err, fleet.ErrUnsigned) {
		t.Errorf("another assignment with the same signature: %v", err)
	}
	if _, err := s.Parse([]byte("{}")); err == nil {
		t.Error("read what is no assignment")
	}
}

// TestLists: targets with equal modules share the list, and other targets do not.
func TestLists(t *testing.T) {
	var l lists
	a, b, c := large(50), large(50), large(50)
	c.Modules[49].Needs = []fleet.Need{{Module: "modules/m0"}}
	one, same, other := l.one(a.Modules), l.one(b.Modules), l.one(c.Modules)
	if &one[0] != &same[0] || &one[0] == &other[0] || !fleet.SameModules(other, c.Modules) {
		t.Error("lists are mixed up")
	}
}

// newStore returns a store of a fleet whose only hub has a key.
func newStore(t *testing.T, key ed25519.PrivateKey) *Store {
	keys := fleet.KeysOf(key.Public().(ed25519.PublicKey))
	return New(Config{Records: &records.Table{}, Keys: func() (fleet.Keys, error) { return keys, nil },
		SigningKey: func() ed25519.PrivateKey { return key }, Context: t.Context})
}
