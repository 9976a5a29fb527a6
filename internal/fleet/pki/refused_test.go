package pki_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
)

// Wrong tokens of an address are limited, but a valid token of the same address is not.
func TestValidTokenAmongWrongOnes(t *testing.T) {
	s := newSite(t, "acme")
	wrong := s.token(nil)
	wrong.Secret[3] ^= 1
	var err error
	for range 30 {
		if _, err = s.host().Enrol(t.Context(), s.url, wrong, "web1"); err == nil {
			t.Fatal("a wrong token is accepted")
		}
	}
	if !strings.Contains(err.Error(), "too many wrong tokens") {
		t.Errorf("the last wrong token: %v", err)
	}
	if _, err := s.host().Enrol(t.Context(), s.url, s.token(nil), "web1"); err != nil {
		t.Errorf("a valid token is refused: %v", err)
	}
}

// A host whose name is in use is refused, and the token can still be used.
func TestRefusedEnrolmentLeavesTheTokenUnused(t *testing.T) {
	s := newSite(t, "acme")
	if _, err := s.host().Enrol(t.Context(), s.url, s.token(nil), "web1"); err != nil {
		t.Fatal(err)
	}
	token := s.token(nil)
	if _, err := s.host().Enrol(t.Context(), s.url, token, "web1"); err == nil ||
		!strings.Contains(err.Error(), "there is a target of that name") {
		t.Fatalf("a second web1: %v", err)
	}
	e, err := s.tokens.Get(t.Context(), token.ID)
	if err != nil {
		t.Fatal(err)
	}
	var stored pki.StoredToken
	if err := json.Unmarshal(e.Value, &stored); err != nil || len(stored.TokenUses) != 0 {
		t.Errorf("the token has the uses %v: %v", stored.TokenUses, err)
	}
	for _, name := range []string{"", "a b", "a/b"} {
		_, err := s.registrar.Enrol(t.Context(), pki.EnrolmentFor(t, token, name), loopback())
		if refusal, theirs := errors.AsType[*pki.Refusal](err); !theirs || refusal.Status != 400 {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if _, err := s.host().Enrol(t.Context(), s.url, token, "web2"); err != nil {
		t.Errorf("the token is spent: %v", err)
	}
}
