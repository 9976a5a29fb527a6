package pki

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Files of an agent's directory.
const (
	identityFile = "identity.json"
	comingFile   = "identity.coming.json"
	knownFile    = "known.json"
)

// ErrNoIdentity is in the chain of the error where a host is no target yet.
var ErrNoIdentity = errors.New("this host is not enrolled")

// Identity is a target's key with its certificate, and what it believes. It is immutable.
type Identity struct {
	ID      fleet.TargetID
	Name    string
	Hubs    []string // URLs, HTTPS
	Buses   []string // URLs of the bus
	Fleet   string   // the authority's name
	key     crypto.Signer
	chain   []*x509.Certificate // its own, then its issuer's
	roots   []*x509.Certificate
	signers []*x509.Certificate

	paths    *Paths                 // to the roots
	sessions tls.ClientSessionCache // begun with the chain
}

// onDisk is an identity in its file: one file, so that key and certificate always fit.
type onDisk struct {
	Answer
	Key string `json:"key"` // PEM
}

// Load reads the identity of a directory.
func (f Directory) Load() (*Identity, error) {
	text, err := f.read(identityFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot find an identity in %s: %w. Run fettle agent enrol", f.Dir, ErrNoIdentity)
	}
	if err != nil {
		return nil, err
	}
	var d onDisk
	// A newer program that gave way to this one again may have written more fields.
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read the identity in %s: it is damaged. Enrol anew with fettle agent enrol --again", f.Dir)
	}
	key, err := oneKey([]byte(d.Key))
	if err != nil {
		return nil, err
	}
	return identityOf(d.Answer, key)
}

// save replaces the identity of a directory whole.
func (f Directory) save(a Answer, key crypto.Signer) error {
	text, err := encodeKeys(key)
	if err != nil {
		return err
	}
	// Time and revocations are kept elsewhere.
	a.Now, a.Revocations, a.Known = 0, nil, ""
	b, err := json.Marshal(onDisk{a, string(text)})
	if err != nil {
		return fmt.Errorf("cannot write an identity: %w", err)
	}
	return f.write(identityFile, b, false)
}

// identityOf checks that an answer is of a key and of the authority that is in it.
// Whether that is the right one was decided at the first contact.
func identityOf(a Answer, key crypto.Signer) (*Identity, error) {
	if a.Format != answerFormat {
		return nil, fmt.Errorf("cannot read an identity of the format %.40q: this program knows %s", a.Format, answerFormat)
	}
	i := &Identity{ID: a.ID, Name: a.Name, Hubs: a.Hubs, Buses: a.Buses, key: key, paths: &Paths{}, sessions: tls.NewLRUClientSessionCache(mostSessions)}
	var failed [3]error
	i.chain, failed[0] = ParseCertificates([]byte(a.Certificates))
	i.roots, failed[1] = ParseCertificates([]byte(a.Authorities))
	i.signers, failed[2] = ParseCertificates([]byte(a.Signers))
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	if len(i.chain) == 0 || len(i.roots) == 0 || !sameKey(i.chain[0].PublicKey, key.Public()) {
		return nil, errors.New("cannot use a certificate that is not of this host's key")
	}
	var err error
	if i.Fleet, err = fleetOf(i.roots[0]); err != nil {
		return nil, err
	}
	p, err := i.Trust(nil).Verify(i.chain, i.chain[0].NotAfter, TargetKind)
	if err == nil && p.Name.ID != string(i.ID) {
		err = fmt.Errorf("cannot use the certificate of the target %s for %s", p.Name.ID, i.ID)
	}
	return i, err
}

// Learn keeps where the hubs are, and whom of them to believe, as one of them says: a
// signer that the authority does not vouch for is left out. It gives the identity that
// knows; the same one where that is no news.
func (f Directory) Learn(i *Identity, hubs, buses []string, signers []byte) (*Identity, error) {
	certs, err := ParseCertificates(signers)
	if err != nil || len(hubs) == 0 || len(buses) == 0 {
		return i, err
	}
	certs = slices.DeleteFunc(certs, func(c *x509.Certificate) bool {
		_, err := i.Trust(nil).Verify([]*x509.Certificate{c}, c.NotAfter, SignerKind)
		return err != nil
	})
	// Who signed once is believed until the next renewal, whatever hubs there are now.
	for _, c := range i.signers {
		if !slices.ContainsFunc(certs, c.Equal) {
			certs = append(certs, c)
		}
	}
	if slices.Equal(hubs, i.Hubs) && slices.Equal(buses, i.Buses) && len(certs) == len(i.signers) {
		return i, nil
	}
	next := *i
	next.Hubs, next.Buses, next.signers = hubs, buses, certs
	return &next, f.save(Answer{
		Format: answerFormat, ID: i.ID, Name: i.Name, Hubs: hubs, Buses: buses, Certificates: string(EncodeCertificates(i.chain...)),
		Authorities: string(EncodeCertificates(i.roots...)), Signers: string(EncodeCertificates(certs...)),
	}, i.key)
}

// Certificate is the target's own.
func (i *Identity) Certificate() *x509.Certificate { return i.chain[0] }

// Chain is the target's own certificate with its issuer's behind it. Nobody may change it.
func (i *Identity) Chain() []*x509.Certificate { return i.chain }

// Authorities are what the target believes. Nobody may change them.
func (i *Identity) Authorities() []*x509.Certificate { return i.roots }

// RenewAt is when the certificate is to be renewed. A clock that is wrong makes that too
// early or too late; a bus that refuses the certificate is a reason to renew as well.
func (i *Identity) RenewAt() time.Time { return RenewAt(i.chain[0]) }

// Trust is what the target believes. revoked may be nil.
func (i *Identity) Trust(revoked *Revocations) Trust {
	t := Trust{Fleet: i.Fleet, Authorities: i.roots, Paths: i.paths}
	if revoked != nil {
		t.Revoked = revoked.Revoked
	}
	return t
}

// Keys are the keys of the hubs whose assignments and facts the target believes.
func (i *Identity) Keys(revoked *Revocations, now, floor time.Time) fleet.Keys {
	out := fleet.Keys{}
	for _, c := range i.signers {
		at, err := Moment(now, floor, c)
		if err != nil {
			continue
		}
		for id, key := range SigningKeys(i.Trust(revoked), []*x509.Certificate{c}, at) {
			out[id] = key
		}
	}
	return out
}

// Signer is the certificate of a key that signs for a hub, nil for one that is not known
// here: what Raise asks for.
func (i *Identity) Signer(keyID string) *x509.Certificate {
	for _, c := range i.signers {
		if _, is := SigningKeys(i.Trust(nil), []*x509.Certificate{c}, c.NotAfter)[keyID]; is {
			return c
		}
	}
	return nil
}

// Own is the certificate for connections.
func (i *Identity) Own() (*tls.Certificate, error) {
	out := &tls.Certificate{PrivateKey: i.key, Leaf: i.chain[0]}
	for _, c := range i.chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// TLS is for every connection of the target to a hub; see Trust.ClientTLS.
func (i *Identity) TLS(revoked *Revocations, now, floor func() time.Time) *tls.Config {
	return i.Trust(revoked).ClientTLS(i.Own, now, floor)
}

// mostSessions is how many hubs a target goes on with where it was.
const mostSessions = 3

// Resumed is TLS for connections that come one after the other: one goes on with the session of
// the one before, which saves both ends the proofs of who they are. What is believed is looked
// at all the same each time, and a certificate that was renewed begins a session of its own.
func (i *Identity) Resumed(revoked *Revocations, now, floor func() time.Time) *tls.Config {
	c := i.TLS(revoked, now, floor)
	c.ClientSessionCache = i.sessions
	return c
}

// Known is what an agent has learnt and must not forget.
type Known struct {
	MinimumTime int64    `json:"floor"` // ns since 1970; see Raise
	Revocations [][]byte `json:"revocations,omitempty"`
}

// LoadKnown reads what is known, nothing where nothing was kept.
func (f Directory) LoadKnown() (Known, error) {
	text, err := f.read(knownFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Known{}, nil
	}
	var k Known
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return Known{}, fmt.Errorf("cannot read what this host knows of its fleet in %s: %w", f.Dir, err)
	}
	return k, nil
}

// SaveKnown replaces what is known whole, durably.
func (f Directory) SaveKnown(k Known) error {
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("cannot write what this host knows of its fleet: %w", err)
	}
	return f.write(knownFile, b, false)
}
