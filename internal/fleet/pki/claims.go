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

// claimsFormat is the supported format.
const claimsFormat = "fettle.claims/1"

// maxClaims is the maximum size of the extension in bytes: 64 labels with keys and values of 63
// characters fit.
const maxClaims = 16 << 10

// claimsOID is a UUID-based object identifier, which needs no registration.
func claimsOID() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 25, 1718906725} }

// Claims are the properties of a target in its certificate.
type Claims struct {
	Format string            `json:"format"`
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Fleet  string            `json:"fleet,omitempty"` // the environment
}

// ClaimsOf reads the properties of a target in its certificate. Call it only for a certificate that
// Trust.Verify accepted.
func ClaimsOf(c *x509.Certificate) (Claims, error) {
	var found [][]byte
	for _, e := range c.Extensions {
		if e.Id.Equal(claimsOID()) {
			found = append(found, e.Value)
		}
	}
	if len(found) != 1 {
		return Claims{}, fmt.Errorf(
			"cannot read the name and the labels in this certificate: it has %d such extensions instead of 1", len(found))
	}
	return parseClaims(found[0])
}

func parseClaims(b []byte) (Claims, error) {
	if len(b) > maxClaims {
		return Claims{}, fmt.Errorf("cannot read %d bytes of name and labels: the maximum is %d", len(b), maxClaims)
	}
	var c Claims
	if err := strictJSON(b, &c); err != nil {
		return Claims{}, fmt.Errorf("cannot read name and labels of a certificate: %w", err)
	}
	return c, c.check()
}

func (c Claims) check() error {
	if c.Format != claimsFormat {
		return fmt.Errorf(
			"cannot read a certificate with name and labels in the format %.40q: this version of fettle supports %s",
			c.Format, claimsFormat)
	}
	if c.Fleet != "" {
		if err := CheckFleet(c.Fleet); err != nil {
			return err
		}
	}
	return errors.Join(fleet.CheckName(c.Name), fleet.CheckLabels(c.Labels))
}

// extension encodes the claims for a certificate. Equal claims have equal bytes.
func (c Claims) extension() (pkix.Extension, error) {
	c.Format = claimsFormat
	if err := c.check(); err != nil {
		return pkix.Extension{}, err
	}
	b, err := json.Marshal(c)
	return pkix.Extension{Id: claimsOID(), Value: b}, err
}

// strictJSON decodes exactly one value. Unknown fields are errors.
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
