// Package fakeoidc is an OIDC provider for tests. It signs in the user of Claims without a question, and checks each
// request of the relying party: OpenID Connect Core 1.0, RFC 6749 and RFC 7636.
//
//	p, err := fakeoidc.Start()
//	defer p.Close()
//	p.Claims = map[string]any{"email": "ann@example.org", "email_verified": true}
package fakeoidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client and Secret are the ID and the secret of the relying party.
const (
	Client = "fettle"
	Secret = "s3cr3t: with & special = characters"
)

// Provider is a running provider. Set its exported fields before it gets requests.
type Provider struct {
	Issuer string
	CA     []byte // the certificate of the CA of its server, PEM
	// Claims are added to the claims of each ID token, and replace them.
	Claims map[string]any
	// Refuse is the error with which the provider refuses to sign in; "" means that it does not.
	Refuse string
	// Ask shows a page with a link to the hub, instead of a redirect.
	Ask bool
	// Now is the clock of the tokens.
	Now func() time.Time

	server *httptest.Server
	key    *rsa.PrivateKey

	mu    sync.Mutex
	codes map[string]request
}

// request is a request for a code.
type request struct{ nonce, challenge, redirect string }

// Start starts a provider at localhost.
func Start() (*Provider, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	p := &Provider{key: key, codes: map[string]request{}, Now: time.Now}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewUnstartedServer(mux)
	cert, text, err := certificate()
	if err != nil {
		return nil, err
	}
	p.server.TLS, p.CA = &tls.Config{Certificates: []tls.Certificate{cert}}, text
	p.server.StartTLS()
	_, port, err := net.SplitHostPort(p.server.Listener.Addr().String())
	p.Issuer = "https://localhost:" + port
	return p, err
}

// Close stops the provider.
func (p *Provider) Close() { p.server.Close() }

// certificate returns a certificate of localhost that is its own CA.
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "provider"}, IsCA: true,
		DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), err
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"issuer": p.Issuer, "jwks_uri": p.Issuer + "/keys",
		"authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer + "/token"})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "k1", "use": "sig",
		"n": encode(p.key.N.Bytes()), "e": encode(big.NewInt(int64(p.key.E)).Bytes())}}})
}

// authorize sends the browser back with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		!strings.Contains(" "+q.Get("scope")+" ", " openid ") || q.Get("state") == "" {
		http.Error(w, "a wrong request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = request{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
	p.mu.Unlock()
	back := url.Values{"state": {q.Get("state")}, "iss": {p.Issuer}, "code": {code}}
	if p.Refuse != "" {
		back = url.Values{"state": {q.Get("state")}, "error": {p.Refuse}}
	}
	to := q.Get("redirect_uri") + "?" + back.Encode()
	if !p.Ask {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, `<title>Provider</title><link rel="icon" href="data:,">
<main id="main"><a href="%s">Continue</a></main>`, html.EscapeString(to))
}

// token exchanges a code for an ID token.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if ok {
		secret, _ = url.QueryUnescape(secret) // RFC 6749, section 2.3.1
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != Client || secret != Secret {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	of, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("grant_type") != "authorization_code" || encode(sum[:]) != of.challenge ||
		r.PostFormValue("redirect_uri") != of.redirect {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300,
		"id_token": p.sign(of.nonce)})
}

// sign returns an ID token.
func (p *Provider) sign(nonce string) string {
	now := p.Now().Unix()
	c := map[string]any{"iss": p.Issuer, "aud": Client, "sub": "1", "iat": now, "exp": now + 300, "nonce": nonce}
	maps.Copy(c, p.Claims)
	text := encode([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + encode(marshal(c))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		return ""
	}
	return text + "." + encode(signature)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(v))
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
