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

// ListLife is how long a list of forbidden certificates counts, and AuthorityListLife is that of
// an authority, whose key may be off-line for most of the time. They are signed anew long before.
const (
	ListLife          = ServiceLife
	AuthorityListLife = HubLife + 30*24*time.Hour
)

const listBlock = "X509 CRL"

// maxLists bounds how many lists there are: one of each hub, and that of the authority.
const maxLists = 64

// RevokedCertificate is an entry of a list.
type RevokedCertificate struct {
	Serial string // in hex
	At     int64  // seconds since 1970
}

// Ended tells whether a revoked certificate has expired whatever it was, so that it
// need not stand in a list any more.
func (f RevokedCertificate) Ended(now time.Time) bool {
	return !now.Before(time.Unix(f.At, 0).Add(ServiceLife + Backdate))
}

// List signs the list of revoked certificates, as PEM of an X.509 CRL. Of two lists the one with
// the higher number is the later.
func (s *Services) List(all []RevokedCertificate, number int64, now time.Time) ([]byte, error) {
	c, err := s.Certificate()
	if err != nil {
		return nil, err
	}
	return signList(c, s.key, all, number, now, now.Add(ListLife))
}

// List signs the list of revoked issuers: services that look at
// the whole way of a certificate want this one as well.
func (a *CA) List(all []RevokedCertificate, number int64, now time.Time) ([]byte, error) {
	if a.cert.KeyUsage&x509.KeyUsageCRLSign == 0 {
		return nil, fmt.Errorf("cannot sign a list as this authority: %w", errors.ErrUnsupported)
	}
	return signList(a.cert, a.key, all, number, now, now.Add(AuthorityListLife))
}

func signList(issuer *x509.Certificate, key crypto.Signer, all []RevokedCertificate, number int64, now, until time.Time) ([]byte, error) {
	t := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: now.Add(-Backdate), NextUpdate: until}
	for _, f := range all {
		serial, ok := new(big.Int).SetString(f.Serial, 16)
		if !ok {
			return nil, fmt.Errorf("cannot revoke the serial %.60q: it is no number in hex", f.Serial)
		}
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: time.Unix(f.At, 0)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, t, issuer, key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a list of forbidden certificates: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: listBlock, Bytes: der}), nil
}

// Lists are lists of forbidden certificates, one of each issuer.
type Lists []*x509.RevocationList

// ParseLists reads PEM of lists. It believes nothing of them.
func ParseLists(text []byte) (Lists, error) {
	raw, err := blocks(text, listBlock, maxLists)
	if err != nil {
		return nil, fmt.Errorf("cannot read lists of forbidden certificates: %w", err)
	}
	var out Lists
	for _, der := range raw {
		l, err := x509.ParseRevocationList(der)
		if err != nil || l.Number == nil {
			return nil, errors.Join(errors.New("cannot read a list of forbidden certificates"), err)
		}
		out = append(out, l)
	}
	return out, nil
}

// BelieveLists gives those of some lists that an authority signed, or what makes certificates of
// services for it; the certificates of these come along. One that cannot be believed is an error.
func BelieveLists(lists Lists, issuers, authorities []*x509.Certificate) error {
	if len(authorities) == 0 {
		return errors.New("cannot believe a list of forbidden certificates without an authority")
	}
	name, err := fleetOf(authorities[0])
	if err != nil {
		return err
	}
	trust := Trust{Fleet: name, Authorities: authorities}
	for _, l := range lists {
		signed := func(c *x509.Certificate) bool { return l.CheckSignatureFrom(c) == nil }
		services := func(c *x509.Certificate) bool {
			_, err := trust.Verify([]*x509.Certificate{c}, c.NotAfter, ServicesKind)
			return err == nil && signed(c)
		}
		if !slices.ContainsFunc(authorities, signed) && !slices.ContainsFunc(issuers, services) {
			return fmt.Errorf("cannot believe a list of forbidden certificates by %s: nobody of this fleet signed it", l.Issuer)
		}
	}
	return nil
}

// Merge adds lists to others: of each issuer the later one stays, and what has ended goes. One that
// has forgotten something does not count: what was forbidden stays so until it has ended.
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

// remembers tells whether a list has all of an older one that may not have ended.
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

// Encode is the text that ParseLists reads.
func (a Lists) Encode() []byte {
	var out []byte
	for _, l := range a {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: listBlock, Bytes: l.Raw})...)
	}
	return out
}

// Has tells whether a list of a hub has a serial; of any hub where hub is "".
func (a Lists) Has(serial, hub string) bool {
	return slices.ContainsFunc(a, func(l *x509.RevocationList) bool {
		return (hub == "" || l.Issuer.CommonName == string(ServicesKind)+" "+hub) &&
			slices.ContainsFunc(l.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool { return e.SerialNumber.Text(16) == serial })
	})
}
