package pki

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// ListLife is the validity of a revocation list of a service issuer. AuthorityListLife is the
// validity of a list of the fleet CA, whose key may be off-line for most of the time. Lists are
// signed again long before they expire.
const (
	ListLife          = ServiceLife
	AuthorityListLife = HubLife + 30*24*time.Hour
)

const listBlock = "X509 CRL"

// maxLists is the maximum number of lists: one of the fleet CA, and one of each hub that the fleet had
// within ListLife.
const maxLists = maxCertificates

// RevokedCertificate is an entry of a list.
type RevokedCertificate struct {
	Serial string // in hex
	At     int64  // seconds since 1970
}

// Ended returns true if the certificate must have expired by now. Its entry is then no longer
// needed.
func (f RevokedCertificate) Ended(now time.Time) bool {
	return !now.Before(time.Unix(f.At, 0).Add(ServiceLife + Backdate))
}

// List signs the list of revoked service certificates, as PEM of an X.509 CRL. Of two lists, the
// list with the higher number is newer.
func (s *Services) List(all []RevokedCertificate, number int64, now time.Time) ([]byte, error) {
	c, err := s.Certificate()
	if err != nil {
		return nil, err
	}
	return signList(c, s.key, all, number, now, now.Add(ListLife))
}

// List signs the list of revoked service issuers. Services that verify the whole chain of a
// certificate need it in addition.
func (a *CA) List(all []RevokedCertificate, number int64, now time.Time) ([]byte, error) {
	if a.cert.KeyUsage&x509.KeyUsageCRLSign == 0 {
		return nil, fmt.Errorf("cannot sign a revocation list with this fleet CA: %w", errors.ErrUnsupported)
	}
	return signList(a.cert, a.key, all, number, now, now.Add(AuthorityListLife))
}

func signList(issuer *x509.Certificate, key crypto.Signer, all []RevokedCertificate, number int64, now,
	until time.Time) ([]byte, error) {
	t := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: now.Add(-Backdate), NextUpdate: until}
	for _, f := range all {
		serial, ok := new(big.Int).SetString(f.Serial, 16)
		if !ok {
			return nil, fmt.Errorf("cannot revoke the serial %.60q: it must be a number in hex", f.Serial)
		}
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: serial, RevocationTime: time.Unix(f.At, 0)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, t, issuer, key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a revocation list: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: listBlock, Bytes: der}), nil
}

// Lists are revocation lists, one of each issuer.
type Lists []*x509.RevocationList

// ParseLists parses lists in PEM. It does not verify signatures.
func ParseLists(text []byte) (Lists, error) {
	raw, err := blocks(text, listBlock, maxLists)
	if err != nil {
		return nil, fmt.Errorf("cannot read revocation lists: %w", err)
	}
	var out Lists
	for _, der := range raw {
		l, err := x509.ParseRevocationList(der)
		if err != nil || l.Number == nil {
			return nil, errors.Join(errors.New("cannot read a revocation list"), err)
		}
		out = append(out, l)
	}
	return out, nil
}

// VerifyLists verifies that each list is signed by a fleet CA, or by one of the given service
// issuers, whose certificates it verifies too. Any other list is an error.
func VerifyLists(lists Lists, issuers, authorities []*x509.Certificate) error {
	if len(authorities) == 0 {
		return errors.New("cannot verify a revocation list without a fleet CA")
	}
	name, err := fleetOf(authorities[0])
	if err != nil {
		return err
	}
	trust := Trust{Fleet: name, Authorities: authorities}
	for _, l := range lists {
		signed := func(c *x509.Certificate) bool { return l.CheckSignatureFrom(c) == nil }
		services := func(c *x509.Certificate) bool {
			if !bytes.Equal(c.RawSubject, l.RawIssuer) {
				return false // verifying each pair would be slow, and a hub chooses both lengths
			}
			_, err := trust.Verify([]*x509.Certificate{c}, c.NotAfter, ServicesKind)
			return err == nil && signed(c)
		}
		if !slices.ContainsFunc(authorities, signed) && !slices.ContainsFunc(issuers, services) {
			return fmt.Errorf("cannot trust the revocation list of %s: it has no signature of this fleet", l.Issuer)
		}
	}
	return nil
}

// Merge returns the newest list of each issuer, without expired lists. A list that lacks an
// unexpired entry of an older list does not replace it: a revoked certificate stays revoked until
// it has expired.
func (a Lists) Merge(b Lists, now time.Time) Lists {
	var out Lists
	for _, l := range slices.Concat(a, b) {
		same := slices.IndexFunc(out, func(o *x509.RevocationList) bool { return bytes.Equal(o.RawIssuer, l.RawIssuer) })
		switch {
		case !now.Before(l.NextUpdate):
		case same < 0:
			out = append(out, l)
		case l.Number.Cmp(out[same].Number) >= 0 && remembers(l, out[same], now):
			out[same] = l
		}
	}
	slices.SortFunc(out, func(x, y *x509.RevocationList) int { return cmp.Compare(x.Issuer.String(), y.Issuer.String()) })
	return out
}

// remembers returns true if a list has all unexpired entries of an older list.
func remembers(l, older *x509.RevocationList, now time.Time) bool {
	has := map[string]bool{}
	for _, e := range l.RevokedCertificateEntries {
		has[e.SerialNumber.Text(16)] = true
	}
	return !slices.ContainsFunc(older.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		f := RevokedCertificate{Serial: e.SerialNumber.Text(16), At: e.RevocationTime.Unix()}
		return !has[f.Serial] && !f.Ended(now)
	})
}

// Encode returns the text for ParseLists.
func (a Lists) Encode() []byte {
	var out []byte
	for _, l := range a {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: listBlock, Bytes: l.Raw})...)
	}
	return out
}

// Has returns true if a list of the hub has the serial; with hub "", a list of any hub.
func (a Lists) Has(serial, hub string) bool {
	return slices.ContainsFunc(a, func(l *x509.RevocationList) bool {
		return (hub == "" || l.Issuer.CommonName == string(ServicesKind)+" "+hub) &&
			slices.ContainsFunc(l.RevokedCertificateEntries,
				func(e x509.RevocationListEntry) bool { return e.SerialNumber.Text(16) == serial })
	})
}
