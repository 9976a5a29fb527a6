package pki

import (
	"crypto/ecdsa"
	"testing"
)

// EnrolmentFor is what a host with a new key asks with.
func EnrolmentFor(t *testing.T, token Token, name string) Enrolment {
	t.Helper()
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	request, err := newRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	return Enrolment{Format: enrolmentFormat, Token: token.Text(), Request: string(request), Name: name}
}

// IssuingKey is what a thief of it has.
func IssuingKey(h *Hub) *ecdsa.PrivateKey { return h.keys[1].(*ecdsa.PrivateKey) }

// LimitSize is how many addresses are remembered.
func LimitSize(l *Limit) int { return len(l.all) }

// ParseClaims reads the extension of a certificate.
func ParseClaims(b []byte) (Claims, error) { return parseClaims(b) }

// Bytes is the extension.
func (c Claims) Bytes() ([]byte, error) {
	e, err := c.extension()
	return e.Value, err
}

// ServicesKey is what a thief of it has.
func ServicesKey(s *Services) *ecdsa.PrivateKey { return s.key.(*ecdsa.PrivateKey) }
