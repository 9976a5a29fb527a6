package pki

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host"
)

const (
	hubKeysFile  = "hub.keys"
	hubCertsFile = "hub.pem"
)

// Hub has the keys of one hub with their certificates. Its methods may be called from any
// goroutine.
type Hub struct {
	directory Directory
	keys      []crypto.Signer // in the order of hubKinds

	mu    sync.RWMutex
	certs []*x509.Certificate // fleet CA, hub, issuer, signer; nil before Install
}

// OpenHub reads the keys of a hub, and creates them if the directory has none.
func OpenHub(files host.FS, dir string) (*Hub, error) {
	h := &Hub{directory: Directory{FS: files, Dir: dir}}
	if err := h.openKeys(); err != nil {
		return nil, err
	}
	text, err := h.directory.read(hubCertsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	h.certs, err = h.check(text)
	return h, err
}

func (h *Hub) openKeys() error {
	text, err := h.directory.read(hubKeysFile)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newHubKeys(); err == nil {
			err = h.directory.write(hubKeysFile, text, true)
		}
	}
	if err != nil {
		return err
	}
	if h.keys, err = parseKeys(text); err == nil && len(h.keys) != len(hubKinds()) {
		err = fmt.Errorf("cannot use %s: it has %d keys, not %d", host.JoinPath(h.directory.Dir, hubKeysFile), len(h.keys),
			len(hubKinds()))
	}
	return err
}

func newHubKeys() ([]byte, error) {
	serve, err := newP256()
	if err != nil {
		return nil, err
	}
	issue, err := newP256()
	if err != nil {
		return nil, err
	}
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	return encodeKeys(serve, issue, sign)
}

// Request returns the certificate requests for the hub's keys, see CA.Certify. They are not secret.
func (h *Hub) Request() ([]byte, error) {
	var out []byte
	for _, k := range h.keys {
		r, err := newRequest(k)
		if err != nil {
			return nil, err
		}
		out = append(out, r...)
	}
	return out, nil
}

// Install durably stores the certificates of CA.Certify, and uses them at once. They can replace
// only certificates of the same fleet CA and the same hub.
func (h *Hub) Install(certificates []byte) error {
	certs, err := h.check(certificates)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.certs != nil && (!h.certs[0].Equal(certs[0]) || h.certs[1].URIs[0].String() != certs[1].URIs[0].String()) {
		return errors.New("cannot install certificates of a different fleet CA or hub: use a separate directory for each hub")
	}
	if err := h.directory.write(hubCertsFile, EncodeCertificates(certs...), false); err != nil {
		return err
	}
	h.certs = certs
	return nil
}

func (h *Hub) check(text []byte) ([]*x509.Certificate, error) {
	certs, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	if len(certs) != 1+len(hubKinds()) {
		return nil, fmt.Errorf("cannot use %d certificates for a hub: a hub has %d", len(certs), 1+len(hubKinds()))
	}
	name, err := fleetOf(certs[0])
	if err != nil {
		return nil, err
	}
	trust := Trust{Fleet: name, Authorities: certs[:1]}
	for i, kind := range hubKinds() {
		c := certs[i+1]
		if !sameKey(c.PublicKey, h.keys[i].Public()) {
			return nil, fmt.Errorf("cannot use this certificate of a %s: it does not belong to the key of this hub", kind)
		}
		if _, err := trust.Verify([]*x509.Certificate{c}, c.NotAfter, kind); err != nil {
			return nil, err
		}
	}
	return certs, nil
}

// ErrNoCertificates means that the fleet CA has not certified the hub yet.
var ErrNoCertificates = errors.New("the fleet CA has not certified this hub yet")

func (h *Hub) installed() ([]*x509.Certificate, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.certs == nil {
		return nil, fmt.Errorf("cannot act as a hub: %w", ErrNoCertificates)
	}
	return h.certs, nil
}

// Name returns the name in the hub's own certificate.
func (h *Hub) Name() (Name, error) {
	certs, err := h.installed()
	if err != nil {
		return Name{}, err
	}
	return NameOf(certs[1])
}

// Authority returns the certificate of the fleet CA.
func (h *Hub) Authority() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// TLS returns the certificate of the hub, followed by the certificate of the fleet CA: a new host
// finds its digest in the token. The method is an OwnCertificate function for Trust.ServerTLS and similar
// functions.
func (h *Hub) TLS() (*tls.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{certs[1].Raw, certs[0].Raw}, PrivateKey: h.keys[0], Leaf: certs[1]}, nil
}

// Issuer returns the issuer of this hub.
func (h *Hub) Issuer() (*Issuer, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	n, err := NameOf(certs[2])
	return &Issuer{cert: certs[2], key: h.keys[1], fleet: n.Fleet}, err
}

// SigningKey returns the key with which this hub signs assignments and revocations. The caller must
// not modify it.
func (h *Hub) SigningKey() ed25519.PrivateKey { return h.keys[2].(ed25519.PrivateKey) }

// Signer returns the certificate of SigningKey.
func (h *Hub) Signer() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[3], nil
}

// Certificate returns the certificate of the hub, with its names and addresses.
func (h *Hub) Certificate() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[1], nil
}

// RenewAt returns the time at which the hub's certificates must be renewed: after two thirds of
// their lifetime.
func (h *Hub) RenewAt() (time.Time, error) {
	certs, err := h.installed()
	if err != nil {
		return time.Time{}, err
	}
	return RenewAt(certs[1]), nil
}

// Trust returns the trust of this hub: in its fleet CA, except for revoked certificates. revoked
// may be nil.
func (h *Hub) Trust(revoked *Revocations) (Trust, error) {
	n, err := h.Name()
	if err != nil {
		return Trust{}, err
	}
	authority, err := h.Authority()
	t := Trust{Fleet: n.Fleet, Authorities: []*x509.Certificate{authority}}
	if revoked != nil {
		t.Revoked = revoked.Revoked
	}
	return t, err
}

// Keys returns the signing keys of this hub and of the given signers, to verify signatures of hubs.
func (h *Hub) Keys(signers []*x509.Certificate, revoked *Revocations, now time.Time) (fleet.Keys, error) {
	t, err := h.Trust(revoked)
	if err != nil {
		return nil, err
	}
	own, err := h.Signer()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(signers, own.Equal) {
		signers = append([]*x509.Certificate{own}, signers...)
	}
	return SigningKeys(t, signers, now), nil
}
