package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxRequest bounds a request for a certificate, in bytes of PEM.
const maxRequest = 4 << 10

// newRequest asks for a certificate for a key. It says nothing else: whatever is in the
// certificate comes from the hub.
func newRequest(key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestBlock, Bytes: der}), nil
}

// ParseRequest reads a request for one certificate and gives the key that signed it. A
// request that claims a name, an address or anything else is refused.
func ParseRequest(text []byte) (crypto.PublicKey, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("cannot read a request for a certificate of %d bytes: %d are the most", len(text), maxRequest)
	}
	raw, err := blocks(text, requestBlock, 1)
	if err == nil && len(raw) != 1 {
		err = errors.New("there is none")
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
	if len(r.Extensions) > 0 || len(r.Subject.Names) > 0 { // all names but the subject are extensions
		return nil, errors.New("cannot take a request that claims names or extensions: what is in a certificate comes from the hub")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, errors.New("cannot take a request that its own key did not sign")
	}
	return r.PublicKey, nil
}
