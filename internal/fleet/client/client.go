// Package client is the client of a hub's API, for the command line.
//
//	c, err := client.New(client.Login{Hub: "https://hub.example.org:7440", Token: token, Authority: digest})
//	page, err := client.GetAt(ctx, c, route.Targets(), route.TargetQuery{Select: []string{"label:env=prod"}})
//
// The client trusts a server if its certificate is a hub certificate of the fleet CA with the
// pinned digest. The host name does not matter, because only the fleet CA makes certificates of
// hubs.
//
// If a hub refuses a request, the error is a *document.Problem; any other error means that there is
// no valid answer. The client never repeats a request, except that it reconnects a broken stream of
// events.
package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// maxAnswer is the maximum size of an answer, in bytes.
const maxAnswer = 64 << 20

// patience is the time limit of an answer, except for streams. A hub answers within 30 seconds.
const patience = 35 * time.Second

// Login contains the address and the credentials of a user for a hub. It contains a secret.
type Login struct {
	Format string `json:"format"` // LoginFormat
	// Hub is https://HOST:PORT, or unix:///PATH for the socket of a hub on this host. The socket
	// needs no other fields.
	Hub       string `json:"hub"`
	Token     string `json:"token,omitempty"`
	Authority string `json:"authority,omitempty"` // sha256:hex of the certificate of the fleet CA
	// SignKey is the file of the SSH key that signs commands, an absolute path; "" means that
	// commands are not signed.
	SignKey string `json:"sign_key,omitempty"`
}

// LoginFormat is the version of the format of a stored Login.
const LoginFormat = "fettle.login/1"

// Client sends requests to one hub. Its methods can be called from any goroutine.
type Client struct {
	base  string
	token string
	http  *http.Client
	// streams is used for connections that become streams. It uses only HTTP/1.1.
	streams *http.Client
	onWait  func() (end func())
}

// ErrStopped is in the chain of the error if the socket of a hub on this host exists, but no hub
// listens on it.
var ErrStopped = errors.New("the hub on this host does not run")

// New makes a client. It does not connect.
func New(l Login) (*Client, error) { return NewAt(l, time.Now) }

// NewAt is New with a clock. Certificates of hubs must be valid at its time.
func NewAt(l Login, now func() time.Time) (*Client, error) {
	u, err := url.Parse(l.Hub)
	if err != nil {
		return nil, fmt.Errorf("cannot read the address of the hub: %w", err)
	}
	transport := &http.Transport{
		TLSHandshakeTimeout: reachWithin, DialContext: (&net.Dialer{Timeout: reachWithin}).DialContext,
		ResponseHeaderTimeout: patience,
		ExpectContinueTimeout: 10 * patience, ForceAttemptHTTP2: true,
	}
	c := &Client{token: l.Token, http: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	switch {
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "unix", u.Path)
			allowed := !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist)
			if err != nil && allowed && ctx.Err() == nil { // a hub that was killed leaves its socket
				err = fmt.Errorf("%w. Start it: systemctl start fettle-hub. If this host needs no hub, remove %s: %w", ErrStopped,
					u.Path, err)
			}
			return conn, err
		}
		c.base, c.streams = "http://hub", oneConnection(transport, c.http)
		return c, nil
	case u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil:
		if err := fleet.CheckDigest(l.Authority); err != nil {
			return nil, fmt.Errorf("cannot verify the hub, because the login has no valid digest of the fleet CA: %w", err)
		}
		transport.TLSClientConfig = trustOnly(l.Authority, now)
		c.base, c.streams = "https://"+u.Host, oneConnection(transport, c.http)
		return c, nil
	}
	return nil, fmt.Errorf("cannot read %.80q as the address of a hub. Write https://HOST:PORT", l.Hub)
}

// DigestOf returns the digest of the certificate of a fleet CA, by which clients pin it.
func DigestOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ErrUntrustedHub is in the chain of the error if the server is not a hub of the pinned fleet CA.
var ErrUntrustedHub = errors.New(
	"the server is not a hub of this fleet, because its certificate is not from the fleet CA of the login")

// trustOnly returns a TLS configuration that accepts only hubs of one fleet CA.
func trustOnly(authority string, now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection verifies the chain; there is no host name to compare
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(s.PeerCertificates, authority, now()) },
	}
}

func verify(chain []*x509.Certificate, authority string, at time.Time) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range chain {
		if DigestOf(c) == authority && c.IsCA {
			roots.AddCert(c)
		} else {
			between.AddCert(c)
		}
	}
	if len(chain) == 0 || !isHub(chain[0]) {
		return ErrUntrustedHub
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUntrustedHub, err)
	}
	return nil
}

// isHub reports whether the only URI of a certificate names a hub.
func isHub(c *x509.Certificate) bool {
	return len(c.URIs) == 1 && c.URIs[0].Scheme == "fettle" && strings.HasPrefix(c.URIs[0].Path, "/hub/")
}

// Authority returns the digest of the fleet CA of a server, without trusting it. The user must
// compare the digest with a trusted source.
func Authority(ctx context.Context, hub string) (string, error) {
	u, err := url.Parse(hub)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("cannot read %.80q as the address of a hub. Write https://HOST:PORT", hub)
	}
	var found string
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if n := len(s.PeerCertificates); n > 0 && s.PeerCertificates[n-1].IsCA {
				found = DigestOf(s.PeerCertificates[n-1])
			}
			return nil
		}}}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "443")
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("cannot reach the hub %s: %w", hub, err)
	}
	if found == "" {
		err = fmt.Errorf("cannot find the fleet CA of %s: the server sends no CA certificate, so it is not a hub", hub)
	}
	return found, errors.Join(err, conn.Close())
}

// request makes a request for an address of the hub. A nil in sends no body.
func (c *Client) request(ctx context.Context, method, address string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("cannot send the request to the hub: %w", err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+address, body)
	if err != nil {
		return nil, fmt.Errorf("cannot send the request to the hub: %w", err)
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// send sends a request and returns the answer if its status is 200.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	return c.answer(c.http, r, http.StatusOK)
}

// answer sends a request with one of the two HTTP clients, and returns the answer if it has the
// status want. Any other answer becomes an error.
func (c *Client) answer(by *http.Client, r *http.Request, want int) (*http.Response, error) {
	answer, err := c.do(by, r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == want {
		return answer, nil
	}
	defer answer.Body.Close()
	p := &document.Problem{}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if json.Unmarshal(text, p) != nil || p.Title == "" {
		return nil, fmt.Errorf("cannot use %s: the answer %s is not from a hub. Check the address", c.base, answer.Status)
	}
	return nil, p
}
