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

// ErrNoIdentity means that the host is not enrolled.
var ErrNoIdentity = errors.New("this host is not enrolled")

// Identity is a target's key with its certificate, and its trust. It is immutable.
type Identity struct {
	ID      fleet.TargetID
	Name    string
	HubURLs []string // URLs, HTTPS
	BusURLs []string // URLs of the bus
	Fleet   string   // the name of the fleet
	key     crypto.Signer
	chain   []*x509.Certificate // the target's certificate, then its issuer's
	roots   []*x509.Certificate
	signers []*x509.Certificate

	paths    *Paths                 // cached certificate paths to the roots
	sessions tls.ClientSessionCache // TLS sessions of the chain
}

// onDisk is the file of an identity. Key and certificate are in one file, so that they always
// match.
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
	// A newer version that was downgraded to this one may have written more fields.
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf(
			"cannot read the identity in %s: it is damaged. Enrol the host again: fettle agent enrol --again", f.Dir)
	}
	key, err := oneKey([]byte(d.Key))
	if err != nil {
		return nil, err
	}
	return identityOf(d.Answer, key)
}

// save replaces the identity of a directory atomically.
func (f Directory) save(a Answer, key crypto.Signer) error {
	text, err := encodeKeys(key)
	if err != nil {
		return err
	}
	// The time and the revocations are stored separately.
	a.Now, a.Revocations, a.Known = 0, nil, ""
	b, err := json.Marshal(onDisk{a, string(text)})
	if err != nil {
		return fmt.Errorf("cannot write an identity: %w", err)
	}
	return f.write(identityFile, b, false)
}

// identityOf checks that an answer belongs to the key, and to the fleet CA in the answer. Whether
// this is the right fleet CA was decided when the host enrolled.
func identityOf(a Answer, key crypto.Signer) (*Identity, error) {
	if a.Format != answerFormat {
		return nil, fmt.Errorf("cannot read an identity of the format %.40q: this version of fettle supports %s", a.Format,
			answerFormat)
	}
	i := &Identity{ID: a.ID, Name: a.Name, HubURLs: a.HubURLs, BusURLs: a.BusURLs, key: key, paths: &Paths{},
		sessions: tls.NewLRUClientSessionCache(mostSessions)}
	var failed [3]error
	i.chain, failed[0] = ParseCertificates([]byte(a.Certificates))
	i.roots, failed[1] = ParseCertificates([]byte(a.Authorities))
	i.signers, failed[2] = ParseCertificates([]byte(a.Signers))
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	if len(i.chain) == 0 || len(i.roots) == 0 || !sameKey(i.chain[0].PublicKey, key.Public()) {
		return nil, errors.New("cannot use the certificate: it does not belong to the key of this host")
	}
	var err error
	if i.Fleet, err = fleetOf(i.roots[0]); err != nil {
		return nil, err
	}
	p, err := i.Trust(nil).Verify(i.chain, i.chain[0].NotAfter, TargetKind)
	if err == nil && p.Name.ID != string(i.ID) {
		err = fmt.Errorf("cannot use the certificate of the target %s for the target %s", p.Name.ID, i.ID)
	}
	return i, err
}

// UpdateHubs stores the addresses of the hubs and their signers, as a hub reported them. It skips
// signers that the fleet CA has not certified. It returns the changed identity, or i if nothing
// changed.
func (f Directory) UpdateHubs(i *Identity, hubs, buses []string, signers []byte) (*Identity, error) {
	certs, err := ParseCertificates(signers)
	if err != nil || len(hubs) == 0 || len(buses) == 0 {
		return i, err
	}
	certs = slices.DeleteFunc(certs, func(c *x509.Certificate) bool {
		_, err := i.Trust(nil).Verify([]*x509.Certificate{c}, c.NotAfter, SignerKind)
		return err != nil
	})
	// A signer stays trusted until the next renewal, even if its hub is gone.
	for _, c := range i.signers {
		if !slices.ContainsFunc(certs, c.Equal) {
			certs = append(certs, c)
		}
	}
	if slices.Equal(hubs, i.HubURLs) && slices.Equal(buses, i.BusURLs) && len(certs) == len(i.signers) {
		return i, nil
	}
	next := *i
	next.HubURLs, next.BusURLs, next.signers = hubs, buses, certs
	return &next, f.save(Answer{
		Format: answerFormat, ID: i.ID, Name: i.Name, HubURLs: hubs, BusURLs: buses,
		Certificates: string(EncodeCertificates(i.chain...)),
		Authorities:  string(EncodeCertificates(i.roots...)), Signers: string(EncodeCertificates(certs...)),
	}, i.key)
}

// Certificate returns the certificate of the target.
func (i *Identity) Certificate() *x509.Certificate { return i.chain[0] }

// Chain returns the certificate of the target, followed by its issuer's. The caller must not modify
// it.
func (i *Identity) Chain() []*x509.Certificate { return i.chain }

// Authorities returns the fleet CAs that the target trusts. The caller must not modify them.
func (i *Identity) Authorities() []*x509.Certificate { return i.roots }

// RenewAt returns the time at which the certificate must be renewed. With a wrong clock this is too
// early or too late, so the agent also renews when a hub refuses the certificate.
func (i *Identity) RenewAt() time.Time { return RenewAt(i.chain[0]) }

// Trust returns the trust of the target. revoked may be nil.
func (i *Identity) Trust(revoked *Revocations) Trust {
	t := Trust{Fleet: i.Fleet, Authorities: i.roots, Paths: i.paths}
	if revoked != nil {
		t.Revoked = revoked.Revoked
	}
	return t
}

// Keys returns the keys of hubs whose assignments and revocations the target accepts.
func (i *Identity) Keys(revoked *Revocations, now, floor time.Time) fleet.Keys {
	out := fleet.Keys{}
	for _, c := range i.signers {
		at, err := VerificationTime(now, floor, c)
		if err != nil {
			continue
		}
		for id, key := range SigningKeys(i.Trust(revoked), []*x509.Certificate{c}, at) {
			out[id] = key
		}
	}
	return out
}

// Signer returns the certificate of a hub's signing key for RaiseMinimumTime, or nil if it is unknown.
func (i *Identity) Signer(keyID string) *x509.Certificate {
	for _, c := range i.signers {
		if _, is := SigningKeys(i.Trust(nil), []*x509.Certificate{c}, c.NotAfter)[keyID]; is {
			return c
		}
	}
	return nil
}

// OwnCertificate returns the certificate for connections.
func (i *Identity) OwnCertificate() (*tls.Certificate, error) {
	out := &tls.Certificate{PrivateKey: i.key, Leaf: i.chain[0]}
	for _, c := range i.chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// TLS returns the configuration of the target's connections to hubs; see Trust.ClientTLS.
func (i *Identity) TLS(revoked *Revocations, now, floor func() time.Time) *tls.Config {
	return i.Trust(revoked).ClientTLS(i.OwnCertificate, now, floor)
}

// mostSessions is the number of hubs for which a target stores a TLS session.
const mostSessions = 3

// ResumingTLS is TLS for consecutive connections: each resumes the session of the previous one, which
// saves both ends the signatures. The trust is still checked each time. A renewed certificate
// starts a new session.
func (i *Identity) ResumingTLS(revoked *Revocations, now, floor func() time.Time) *tls.Config {
	c := i.TLS(revoked, now, floor)
	c.ClientSessionCache = i.sessions
	return c
}

// Known is the data that an agent must not lose.
type Known struct {
	MinimumTime int64    `json:"floor"` // ns since 1970; see RaiseMinimumTime
	Revocations [][]byte `json:"revocations,omitempty"`
}

// LoadKnown reads the stored Known. It returns the zero value if there is none.
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
		return Known{}, fmt.Errorf("cannot read the minimum time and the revocations in %s: %w", f.Dir, err)
	}
	return k, nil
}

// SaveKnown replaces the stored Known atomically and durably.
func (f Directory) SaveKnown(k Known) error {
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("cannot write the minimum time and the revocations: %w", err)
	}
	return f.write(knownFile, b, false)
}
