package assignments

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// shownBy returns the envelope of an assignment with five modules.
func shownBy(t *testing.T, key ed25519.PrivateKey, generation uint64) (fleet.Assignment, []byte) {
	t.Helper()
	a := large(5)
	a.Generation = generation
	envelope, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, key)
	if err != nil {
		t.Fatal(err)
	}
	return a, envelope
}

// stored returns the record of a target as another hub reads it.
func stored(t *testing.T, s *Store, store fleet.Store, id fleet.TargetID) records.Assignment {
	t.Helper()
	e, err := store.Get(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Parse(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAdopt: a newer assignment of the target is stored, and an older one is not. The next assignments of the leader
// still have the list of foreign contents.
func TestAdopt(t *testing.T) {
	s, store := giving(t)
	a, envelope := shownBy(t, s.SigningKey(), 7)
	for range 2 {
		if err := s.Adopt(t.Context(), a.Target, envelope); err != nil {
			t.Fatal(err)
		}
	}
	g := stored(t, s, store, a.Target)
	if !g.Assignment.Same(a) || g.Assignment.Generation != 7 || len(g.Foreign) != 6 || g.Foreign[5].Part != "top" {
		t.Errorf("%+v", g)
	}
	again, err := g.Envelope()
	if err != nil || string(again) != string(envelope) {
		t.Errorf("%v\n%s\n%s", err, again, envelope)
	}
	_, older := shownBy(t, s.SigningKey(), 6)
	err = s.Adopt(t.Context(), a.Target, older)
	if g := stored(t, s, store, a.Target).Assignment; err != nil || g.Generation != 7 {
		t.Errorf("an older one: %v", err)
	}
	a.Generation = 8
	a.Modules = a.Modules[1:]
	if err := s.Write(t.Context(), 3, []fleet.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	next := stored(t, s, store, a.Target)
	if next.Assignment.Generation != 8 || next.Fence != 3 || !slices.Equal(next.Foreign, g.Foreign) {
		t.Errorf("%+v", next)
	}
	if _, newer := shownBy(t, s.SigningKey(), 9); s.Adopt(t.Context(), a.Target, newer) != nil ||
		stored(t, s, store, a.Target).Fence != 3 {
		t.Error("an adopted assignment does not have the fence of its predecessor")
	}
}

// TestAdoptOnlyWhatTheFleetSigned: assignments of other targets and of other signers are refused, and signatures that
// the target added are removed.
func TestAdoptOnlyWhatTheFleetSigned(t *testing.T) {
	s, store := giving(t)
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, envelope := shownBy(t, s.SigningKey(), 7)
	_, forged := shownBy(t, other, 7)
	for name, err := range map[string]error{
		"another target": s.Adopt(t.Context(), fleet.TargetID(strings.Repeat("b", 26)), envelope),
		"another signer": s.Adopt(t.Context(), a.Target, forged),
		"no envelope":    s.Adopt(t.Context(), a.Target, []byte("{")),
	} {
		if !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var padded fleet.Signed
	if err := json.Unmarshal(envelope, &padded); err != nil {
		t.Fatal(err)
	}
	padded.Signatures = append(padded.Signatures, fleet.Signature{KeyID: "x", Sig: strings.Repeat("A", 1000)})
	text, err := json.Marshal(padded)
	if err == nil {
		err = s.Adopt(t.Context(), a.Target, text)
	}
	if g := stored(t, s, store, a.Target); err != nil || len(g.Signatures) != 1 {
		t.Errorf("%v: %+v", err, g.Signatures)
	}
}

// TestWriteAfterTheTargetShowed: a leader that does not know what the target showed must compute again.
func TestWriteAfterTheTargetShowed(t *testing.T) {
	s, store := giving(t)
	a, envelope := shownBy(t, s.SigningKey(), 7)
	hub := newStore(t, s.SigningKey())
	hub.Records.Assignments = records.NewMirror(fleet.Store(store), "", hub.Parse)
	hub.Records.Assignments.Format = hub.Pack
	if err := hub.Adopt(t.Context(), a.Target, envelope); err != nil {
		t.Fatal(err)
	}
	old := a
	old.Generation = 3
	if err := s.Write(t.Context(), 3, []fleet.Assignment{old}); !errors.Is(err, ErrShown) {
		t.Errorf("%v", err)
	}
	if g, _, _ := s.Records.Assignments.Get(string(a.Target)); g.Assignment.Generation != 7 {
		t.Errorf("the leader does not have it: %+v", g)
	}
	if err := s.Write(t.Context(), 3, []fleet.Assignment{old}); err != nil {
		t.Errorf("again: %v", err)
	}
}
