package pki

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestRevocationsHaveOneSubject: a serial or a name of the same fleet, and not both.
func TestRevocationsHaveOneSubject(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	for name, c := range map[string]struct {
		r    Revocation
		key  string
		good bool
	}{
		"serial": {Revocation{Serial: "2f", Fleet: "acme"}, "revoked/serial/2f", true},
		"longest serial": {Revocation{Serial: strings.Repeat("f", 40), Fleet: "acme"},
			"revoked/serial/" + strings.Repeat("f", 40), true},
		"longer serial": {Revocation{Serial: strings.Repeat("f", 41), Fleet: "acme"}, "", false},
		"no hex":        {Revocation{Serial: "xyz", Fleet: "acme"}, "", false},
		"a bad fleet":   {Revocation{Serial: "2f", Fleet: "A"}, "", false},
		"no fleet":      {Revocation{Serial: "2f"}, "", false},
		"hub":           {Revocation{Name: "fettle://acme/hub/h", Fleet: "acme"}, "revoked/hub/h", true},
		"user": {Revocation{Name: "fettle://acme/person/a@b", Fleet: "acme"},
			"revoked/person/=" + lower.EncodeToString([]byte("a@b")), true},
		"another fleet":   {Revocation{Name: "fettle://acme/hub/h", Fleet: "other"}, "", false},
		"a bad name":      {Revocation{Name: "hub", Fleet: "acme"}, "", false},
		"neither":         {Revocation{Fleet: "acme"}, "", false},
		"serial and name": {Revocation{Serial: "2f", Name: "fettle://acme/hub/h", Fleet: "acme"}, "", false},
	} {
		envelope, err := c.r.Sign(key)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		got, err := OpenRevocation(envelope, fleet.KeysOf(key.Public().(ed25519.PublicKey)))
		if err != nil || got.Key() != c.key {
			t.Errorf("%s: %s, %v", name, got.Key(), err)
		}
	}
	if _, err := OpenRevocation(make([]byte, maxRevocation+1), nil); err == nil ||
		!strings.Contains(err.Error(), "the maximum is") {
		t.Errorf("%v", err)
	}
	if _, err := OpenRevocation(make([]byte, maxRevocation), nil); err == nil ||
		strings.Contains(err.Error(), "the maximum is") {
		t.Errorf("%v", err)
	}
	if err := (Revocation{Format: "fettle.revocation/2", Serial: "2f", Fleet: "acme"}).check(); err == nil {
		t.Error("another format is taken")
	}
}

// TestEarlierFactStays: of two revocations of one subject the earlier one stays, and only
// revocations in the set are known.
func TestEarlierFactStays(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	keys := fleet.KeysOf(key.Public().(ed25519.PublicKey))
	fact := func(name string, at int64) []byte {
		e, err := Revocation{Name: name, Fleet: "acme", At: at}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	var s Revocations
	late, early, user := fact("fettle://acme/hub/h", 9), fact("fettle://acme/hub/h", 5),
		fact("fettle://acme/person/ada", 1)
	for i, e := range [][]byte{late, early, late, user, user} {
		news, err := s.Add(e, keys)
		if err != nil || news != (i == 0 || i == 3) {
			t.Errorf("fact %d: news %t, %v", i, news, err)
		}
	}
	if s.has(late) || !s.has(early) || !s.has(user) || (*Revocations)(nil).has(early) {
		t.Error("the wrong facts are in the set")
	}
	if got := s.OfHubs(); len(got) != 1 || string(got[0]) != string(early) || len(s.Envelopes()) != 2 {
		t.Errorf("%d of hubs, %d in all", len(got), len(s.Envelopes()))
	}
	for kind, revoked := range map[Kind]bool{HubKind: true, IssuerKind: true, SignerKind: true, ServicesKind: true,
		UserKind: false} {
		if s.Revoked("1", Name{"acme", kind, "h"}) != revoked || s.Revoked("1", Name{"acme", kind, "x"}) {
			t.Errorf("%s: revoked %t", kind, !revoked)
		}
	}
}

// TestTokenParts: each part of a token has its own length, independent of the total length.
func TestTokenParts(t *testing.T) {
	token := newToken([32]byte{7})
	text := func(parts ...string) string {
		body := strings.Join(parts, "-")
		return body + "-" + tokenSum(body)
	}
	secret, digest := lower.EncodeToString(token.Secret[:]), lower.EncodeToString(token.Authority[:])
	if got, err := ParseToken(" " + text("fettle", token.ID, secret, digest) + "\n"); err != nil || got != token {
		t.Fatalf("%v", err)
	}
	for what, bad := range map[string]string{
		"a longer secret":  text("fettle", token.ID, secret+"aa", digest[2:]),
		"a longer digest":  text("fettle", token.ID, secret[2:], digest+"aa"),
		"a longer ID":      text("fettle", token.ID+"aa", secret[2:], digest),
		"another word":     text("fettlf", token.ID, secret, digest),
		"secret, no text":  text("fettle", token.ID, "1"+secret[1:], digest),
		"digest, no text":  text("fettle", token.ID, secret, "1"+digest[1:]),
		"ID, no text":      text("fettle", "1"+token.ID[1:], secret, digest),
		"spare bits":       text("fettle", token.ID, secret, digest[:51]+"b"),
		"six parts":        text("fettle", token.ID, secret[:30], "a", digest),
		"a wrong checksum": text("fettle", token.ID, secret, digest)[:106] + "x",
	} {
		if _, err := ParseToken(bad); err == nil {
			t.Errorf("%s is read", what)
		}
	}
}
