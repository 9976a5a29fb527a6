package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// claimsFormat is the format that this program writes and reads.
const claimsFormat = "fettle.claims/1"

// maxClaims bounds the extension in bytes: 64 labels of 63 characters each way fit.
const maxClaims = 16 << 10

// claimsOID is in the arc that needs no registration.
func claimsOID() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 25, 1718906725} }

// Claims is what a hub says of a target in its certificate.
type Claims struct {
	Format string            `json:"format"`
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Fleet  string            `json:"fleet,omitempty"` // the environment
}

// ClaimsOf reads what the certificate of a target says of it. It is to be asked only of
// a certificate that Trust.Verify believes.
func ClaimsOf(c *x509.Certificate) (Claims, error) {
	var found [][]byte
	for _, e := range c.Extensions {
		if e.Id.Equal(claimsOID()) {
			found = append(found, e.Value)
		}
	}
	if len(found) != 1 {
		return Claims{}, fmt.Errorf("cannot find name and labels in this certificate: it has %d such extensions, not 1", len(found))
	}
	return parseClaims(found[0])
}

func parseClaims(b []byte) (Claims, error) {
	if len(b) > maxClaims {
		return Claims{}, fmt.Errorf("cannot read %d bytes of name and labels: %d are the most", len(b), maxClaims)
	}
	var c Claims
	if err := strictJSON(b, &c); err != nil {
		return Claims{}, fmt.Errorf("cannot read name and labels of a certificate: %w", err)
	}
	return c, c.check()
}

func (c Claims) check() error {
	if c.Format != claimsFormat {
		return fmt.Errorf("cannot read a certificate with name and labels in the format %.40q: this program knows %s", c.Format, claimsFormat)
	}
	if c.Fleet != "" {
		if err := CheckFleet(c.Fleet); err != nil {
			return err
		}
	}
	return errors.Join(fleet.CheckName(c.Name), fleet.CheckLabels(c.Labels))
}

// extension is the same claims as a certificate has them: the same bytes each time.
func (c Claims) extension() (pkix.Extension, error) {
	c.Format = claimsFormat
	if err := c.check(); err != nil {
		return pkix.Extension{}, err
	}
	b, err := json.Marshal(c)
	return pkix.Extension{Id: claimsOID(), Value: b}, err
}

// strictJSON reads one value and nothing behind it; fields that are not known are
// mistakes.
func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more data after the document")
	}
	return nil
}
