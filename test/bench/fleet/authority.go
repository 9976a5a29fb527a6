package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// authority issues certificates for the measurement of limits, in the form of a fleet's certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// pair is a key with its certificate and the certificate of the CA, all in DER.
type pair struct{ Key, Cert, Authority []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("authority")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{key, cert}, err
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"hub"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth,
			x509.ExtKeyUsageServerAuth},
	}
}

func (a *authority) pair(name string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.CreateCertificate(rand.Reader, template(name), a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pair{der, cert, a.cert.Raw}, err
}

// pairs returns the pairs of n targets.
func (a *authority) pairs(n int) ([]pair, error) {
	out := make([]pair, n)
	for i := range out {
		var err error
		if out[i], err = a.pair(string(targetID(i))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// targetID returns a distinct ID for each number.
func targetID(i int) fleet.TargetID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(i)+1)
	return fleet.TargetID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])))
}

// config is the TLS configuration with the pair, for servers and clients.
func (p pair) config() (*tls.Config, error) {
	key, err := x509.ParsePKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read a key: %w", err)
	}
	root, err := x509.ParseCertificate(p.Authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	own := tls.Certificate{Certificate: [][]byte{p.Cert}, PrivateKey: key}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: pool,
		ClientCAs: pool, ServerName: "hub", SessionTicketsDisabled: true}, nil
}
