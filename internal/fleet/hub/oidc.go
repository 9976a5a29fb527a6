package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// OIDC describes the provider whose users may use this hub.
type OIDC struct {
	Issuer string `json:"issuer"` // https URL
	Client string `json:"client"` // the ID of the hub at the provider
	// NameClaim is the claim with the name of a user; "" means email, which the provider must have verified.
	NameClaim string     `json:"name_claim,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"` // in addition to openid, email and profile
	Rules     []OIDCRule `json:"rules"`
}

// OIDCRule gives a role to users with a claim.
type OIDCRule struct {
	Claim string `json:"claim"` // such as groups
	Value string `json:"value"` // the exact value, or an element of a list
	Role  string `json:"role"`
	// Organization limits these users to an organization; "" means the whole fleet.
	Organization fleet.Organization `json:"organization,omitempty"`
}

// Files of the OIDC provider in the directory of a hub. Both may be missing.
const (
	oidcSecretFile = "oidc-secret" // the secret of the hub at the provider
	oidcCAFile     = "oidc-ca.pem" // the certificates of the CA of the provider
)

// newProvider returns the OIDC provider of the settings of the hub in dir; nil means that there is none.
func newProvider(files host.FS, dir string, s *OIDC) (*access.Provider, error) {
	if s == nil {
		return nil, nil
	}
	p := &access.Provider{Issuer: s.Issuer, Client: s.Client, NameClaim: s.NameClaim, Scopes: s.Scopes}
	for _, r := range s.Rules {
		p.Rules = append(p.Rules, access.Rule{Claim: r.Claim, Value: r.Value, Role: access.Role(r.Role),
			Organization: r.Organization})
	}
	secret, err := smallfile.Read(files, path.Join(dir, oidcSecretFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.Secret = strings.TrimSpace(string(secret))
	if p.HTTP, err = providerClient(files, path.Join(dir, oidcCAFile)); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("cannot use oidc in %s: %w", path.Join(dir, "hub.json"), err)
	}
	return p, nil
}

// providerClient returns the client for requests to the provider; nil means the default.
func providerClient(files host.FS, file string) (*http.Client, error) {
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use %s: it has no certificate in the PEM format", file)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: t, Timeout: 10 * time.Second}, nil
}
