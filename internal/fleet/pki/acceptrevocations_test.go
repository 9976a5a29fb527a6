package pki_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Agents send revocations to hubs that have lost them, even if a revoked target could renew its
// certificate in the meantime.
func TestLostFacts(t *testing.T) {
	s := newSite(t, "acme")
	owner, other := s.host(), s.host()
	stolen := s.enrolled(owner, "web1")
	s.enrolled(other, "web2")
	if _, err := s.registrar.SetStanding(t.Context(), stolen.ID, fleet.Revoked, "ada", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.facts.all, s.targets.all, s.names.all = nil, nil, nil
	*s.registrar.Revocations = pki.Revocations{}
	if _, err := other.Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.facts.All(t.Context()); len(all) != 1 {
		t.Errorf("the hub has %d facts", len(all))
	}
	if _, err := owner.Renew(t.Context(), nil); err == nil {
		t.Error("a revoked target renews")
	}
	forged, err := pki.Revocation{Serial: "1", Fleet: "acme", At: 1, By: "eve"}.Sign(ed25519.NewKeyFromSeed(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.registrar.AcceptRevocations(t.Context(), [][]byte{forged, nil, []byte("{}")}); err != nil {
		t.Errorf("what is not believed is an error: %v", err)
	}
	if n := len(s.registrar.Revocations.All()); n != 1 {
		t.Errorf("%d are believed", n)
	}
}

// Hubs apply the revocations of the store as they are added, and report each once.
func TestFollowFacts(t *testing.T) {
	s := newSite(t, "acme")
	i := s.enrolled(s.host(), "web1")
	if _, err := s.registrar.SetStanding(t.Context(), i.ID, fleet.Retired, "ada", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.facts.Put(t.Context(), "revoked/serial/1", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var other pki.Revocations
	var told []pki.Revocation
	var bad int
	keys := func() fleet.Keys { return fleet.KeysOf(publicOf(s.hub.SigningKey())) }
	ended := other.Follow(ctx, stopping{s.facts, stop}, keys, func(r pki.Revocation, err error) {
		if err != nil {
			bad++
			return
		}
		told = append(told, r)
	})
	if !errors.Is(ended, context.Canceled) || len(told) != 1 || bad != 1 || !other.Revoked("", pki.Name{Fleet: "acme", Kind: pki.TargetKind, ID: string(i.ID)}) {
		t.Errorf("%v: %v, %d", ended, told, bad)
	}
}

// stopping is a store whose watch ends after the existing entries, twice.
type stopping struct {
	*memory
	stop func()
}

func (s stopping) Watch(ctx context.Context, each func(fleet.Entry), _ func()) error {
	again := func() { s.stop() }
	return s.memory.Watch(ctx, func(e fleet.Entry) { each(e); each(fleet.Entry{Key: e.Key, Value: e.Value, Gone: true}) }, again)
}

// A revoked hub can no longer revoke other certificates.
func TestFactsOfARevokedHub(t *testing.T) {
	s := newSite(t, "acme")
	thief := newHub(t, s.authority, "hub2")
	signer, err := thief.Signer()
	if err != nil {
		t.Fatal(err)
	}
	s.registrar.Signers = func(context.Context) ([]*x509.Certificate, error) { return []*x509.Certificate{signer}, nil }
	carried := func(serial string) [][]byte {
		e, err := pki.Revocation{Serial: serial, Fleet: "acme", At: 1, By: "hub2"}.Sign(thief.SigningKey())
		if err != nil {
			t.Fatal(err)
		}
		return [][]byte{e}
	}
	take := func(serial string) bool {
		if err := s.registrar.AcceptRevocations(t.Context(), carried(serial)); err != nil {
			t.Fatal(err)
		}
		return s.registrar.Revocations.Revoked(serial, pki.Name{})
	}
	if !take("1") {
		t.Error("a fact of another hub is not taken")
	}
	if err := s.registrar.Revoke(t.Context(), pki.Revocation{Name: "fettle://acme/hub/hub2", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if take("2") || !take("1") {
		t.Error("after the hub is revoked its new facts count, or its old ones do not")
	}
}
