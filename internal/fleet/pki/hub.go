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

// Hub is the keys of one hub with their certificates. Its methods may be called from any
// goroutine.
type Hub struct {
	directory Directory
	keys      []crypto.Signer // in the order of hubKinds

	mu    sync.RWMutex
	certs []*x509.Certificate // authority, hub, issuer, signer; nil before Install
}

// OpenHub reads the keys of a hub, and makes them in a directory that has none.
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
		err = fmt.Errorf("cannot use %s: it has %d keys, not %d", host.JoinPath(h.directory.Dir, hubKeysFile), len(h.keys), len(hubKinds()))
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

// Request asks an authority to vouch for the hub's keys; see Authority.Vouch. It is no
// secret.
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

// Install takes what Authority.Vouch gave, durably and at once for every use. Those that
// are there are replaced by such of the same authority and the same hub only.
func (h *Hub) Install(certificates []byte) error {
	certs, err := h.check(certificates)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.certs != nil && (!h.certs[0].Equal(certs[0]) || h.certs[1].URIs[0].String() != certs[1].URIs[0].String()) {
		return errors.New("cannot take certificates of another authority or another hub: use a directory of its own for it")
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
		return nil, fmt.Errorf("cannot take %d certificates for a hub's: there are %d", len(certs), 1+len(hubKinds()))
	}
	name, err := fleetOf(certs[0])
	if err != nil {
		return nil, err
	}
	trust := Trust{Fleet: name, Authorities: certs[:1]}
	for i, kind := range hubKinds() {
		c := certs[i+1]
		if !sameKey(c.PublicKey, h.keys[i].Public()) {
			return nil, fmt.Errorf("cannot take a certificate of a %s: it is not of this hub's key", kind)
		}
		if _, err := trust.Verify([]*x509.Certificate{c}, c.NotAfter, kind); err != nil {
			return nil, err
		}
	}
	return certs, nil
}

// ErrNoCertificates is in the chain of the error of a hub that no authority has vouched
// for.
var ErrNoCertificates = errors.New("no authority has vouched for this hub yet")

func (h *Hub) installed() ([]*x509.Certificate, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.certs == nil {
		return nil, fmt.Errorf("cannot act as a hub: %w", ErrNoCertificates)
	}
	return h.certs, nil
}

// Name is the hub's.
func (h *Hub) Name() (Name, error) {
	certs, err := h.installed()
	if err != nil {
		return Name{}, err
	}
	return NameOf(certs[1])
}

// Authority is the certificate of the authority.
func (h *Hub) Authority() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// TLS is the certificate that the hub shows, with the authority's behind it: whoever has
// a token knows that by its digest. Its signature fits Trust.ServerTLS and the like.
func (h *Hub) TLS() (*tls.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{certs[1].Raw, certs[0].Raw}, PrivateKey: h.keys[0], Leaf: certs[1]}, nil
}

// Issuer makes certificates as this hub.
func (h *Hub) Issuer() (*Issuer, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	n, err := NameOf(certs[2])
	return &Issuer{cert: certs[2], key: h.keys[1], fleet: n.Fleet}, err
}

// SigningKey signs assignments and facts as this hub. Nobody may change its bytes.
func (h *Hub) SigningKey() ed25519.PrivateKey { return h.keys[2].(ed25519.PrivateKey) }

// Signer is the certificate that vouches for SigningKey.
func (h *Hub) Signer() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[3], nil
}

// Certificate is the hub's own, with the names and addresses that it is reached by.
func (h *Hub) Certificate() (*x509.Certificate, error) {
	certs, err := h.installed()
	if err != nil {
		return nil, err
	}
	return certs[1], nil
}

// RenewAt is when the hub's certificates have to be vouched for anew: after two thirds.
func (h *Hub) RenewAt() (time.Time, error) {
	certs, err := h.installed()
	if err != nil {
		return time.Time{}, err
	}
	return RenewAt(certs[1]), nil
}

// Trust is what this hub believes: what its own authority vouched for, but for what is
// revoked. revoked may be nil.
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

// Keys are the signing keys of some hubs, for whoever checks what hubs sign.
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
