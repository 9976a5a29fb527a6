package pki

import (
	"crypto/ecdsa"
	"testing"
)

// EnrolmentFor returns the request of a host with a new key.
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

// IssuingKey returns the key that a thief would have.
func IssuingKey(h *Hub) *ecdsa.PrivateKey { return h.keys[1].(*ecdsa.PrivateKey) }

// LimitSize returns the number of recorded addresses.
func LimitSize(l *Limit) int { return len(l.all) }

// ParseClaims parses the extension of a certificate.
func ParseClaims(b []byte) (Claims, error) { return parseClaims(b) }

// Bytes returns the extension.
func (c Claims) Bytes() ([]byte, error) {
	e, err := c.extension()
	return e.Value, err
}

// ServicesKey returns the key that a thief would have.
func ServicesKey(s *Services) *ecdsa.PrivateKey { return s.key.(*ecdsa.PrivateKey) }
