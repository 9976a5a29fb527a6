package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Types of PEM blocks.
const (
	keyBlock         = "PRIVATE KEY"
	certificateBlock = "CERTIFICATE"
	requestBlock     = "CERTIFICATE REQUEST"
)

// blocks decodes PEM blocks of one type. Other types, and text between blocks, are errors.
func blocks(text []byte, kind string, most int) ([][]byte, error) {
	var out [][]byte
	for rest := bytes.TrimSpace(text); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		if !bytes.HasPrefix(rest, []byte("-----BEGIN "+kind+"-----")) {
			return nil, fmt.Errorf("it contains data that is not a PEM block of type %s", kind)
		}
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil || b.Type != kind || len(b.Headers) > 0 {
			return nil, fmt.Errorf("a PEM block of type %s is damaged", kind)
		}
		if out = append(out, b.Bytes); len(out) > most {
			return nil, fmt.Errorf("it has more than %d PEM blocks of type %s", most, kind)
		}
	}
	return out, nil
}

// maxCertificates is the maximum length of a list of certificates. Lists contain a certificate of each
// hub that the fleet had, because the certificates that a retired hub issued stay valid for a while.
const maxCertificates = 1024

// ParseCertificates parses at most 1024 certificates in PEM. Other content is an error. The caller limits
// the size of a text of an unknown party.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	raw, err := blocks(text, certificateBlock, maxCertificates)
	if err != nil {
		return nil, fmt.Errorf("cannot read certificates: %w", err)
	}
	var out []*x509.Certificate
	for _, der := range raw {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("cannot read a certificate: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// EncodeCertificates returns the text for ParseCertificates.
func EncodeCertificates(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: c.Raw})...)
	}
	return out
}

func newP256() (*ecdsa.PrivateKey, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	return k, nil
}

func encodeKeys(keys ...crypto.Signer) ([]byte, error) {
	var out []byte
	for _, k := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			return nil, fmt.Errorf("cannot write a key: %w", err)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der})...)
	}
	return out, nil
}

// parseKeys parses P-256 and ed25519 keys. Its errors never contain a part of a key.
func parseKeys(text []byte) ([]crypto.Signer, error) {
	raw, err := blocks(text, keyBlock, 4)
	if err != nil {
		return nil, fmt.Errorf("cannot read keys: %w", err)
	}
	var out []crypto.Signer
	for _, der := range raw {
		k, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, errors.New("cannot read a key: it is damaged")
		}
		s, ok := k.(crypto.Signer)
		if !ok || checkKey(s.Public()) != nil {
			return nil, errors.New("cannot use a key of this type: it is neither P-256 nor ed25519")
		}
		out = append(out, s)
	}
	return out, nil
}

// checkKey returns an error if the type of a public key is not supported.
func checkKey(public crypto.PublicKey) error {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize {
			return nil
		}
	}
	return errors.New("cannot use a key of this type: it must be P-256 or ed25519")
}

// sameKey compares public keys of any type.
func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
