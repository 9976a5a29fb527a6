package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxRequest is the maximum size of a certificate request in PEM, in bytes.
const maxRequest = 4 << 10

// newRequest makes a certificate request with the key and no other content: the hub decides the
// content of the certificate.
func newRequest(key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request for a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestBlock, Bytes: der}), nil
}

// ParseRequest parses one certificate request and returns the key that signed it. It refuses
// requests with names, addresses or other extensions.
func ParseRequest(text []byte) (crypto.PublicKey, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("cannot read a request for a certificate of %d bytes: the maximum is %d", len(text),
			maxRequest)
	}
	raw, err := blocks(text, requestBlock, 1)
	if err == nil && len(raw) != 1 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a request for a certificate: %w", err)
	}
	return requestKey(raw[0])
}

func requestKey(der []byte) (crypto.PublicKey, error) {
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("cannot read a request for a certificate: %w", err)
	}
	if err := checkKey(r.PublicKey); err != nil {
		return nil, err
	}
	if len(r.Extensions) > 0 || len(r.Subject.Names) > 0 { // all names except the subject are extensions
		return nil, errors.New("cannot accept a certificate request with names or extensions: the hub sets them")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, errors.New("cannot accept a certificate request without a valid signature of its key")
	}
	return r.PublicKey, nil
}
