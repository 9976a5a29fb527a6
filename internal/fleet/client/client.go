// Package client is the other end of a hub's API: what the command line asks a hub.
//
//	c, err := client.New(client.Login{Hub: "https://hub.example.org:7440", Token: token, Authority: digest})
//	page, err := c.Targets(ctx, client.TargetQuery{Select: []string{"label:env=prod"}})
//
// A hub is believed when its certificate says that it is a hub and comes from the
// authority whose digest was pinned, whatever its host name is: certificates of hubs are
// made by the authority itself, and nobody else's are.
//
// What a hub refuses is a *document.Problem; what keeps one from asking is another error.
// Nothing is asked twice by itself, but for a stream of events that broke.
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

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// patience is how long an answer may take, except for streams. A hub answers within 30 seconds.
const patience = 35 * time.Second

// Login is what a person needs to ask a hub. It holds a secret.
type Login struct {
	Format string `json:"format"` // LoginFormat
	// Hub is https://HOST:PORT, or unix:///PATH for the socket of a hub on this machine,
	// which needs nothing else.
	Hub       string `json:"hub"`
	Token     string `json:"token,omitempty"`
	Authority string `json:"authority,omitempty"` // sha256:hex of its certificate
	// SignKey is the file of the SSH key that signs commands, absolute; "" signs none.
	SignKey string `json:"sign_key,omitempty"`
}

// LoginFormat is the format of a Login that is kept.
const LoginFormat = "fettle.login/1"

// Client asks one hub. Its methods may be called from any goroutine.
type Client struct {
	base  string
	token string
	http  *http.Client
	// streams is for what is more than a question: HTTP/1.1 alone.
	streams *http.Client
	onWait  func() (end func())
}

// ErrStopped is in the chain where the socket of a hub on this machine is there, and nobody listens.
var ErrStopped = errors.New("it does not run")

// New makes a client; nothing is asked yet.
func New(l Login) (*Client, error) {
	u, err := url.Parse(l.Hub)
	if err != nil {
		return nil, fmt.Errorf("cannot read the address of the hub: %w", err)
	}
	transport := &http.Transport{
		TLSHandshakeTimeout: reachWithin, DialContext: (&net.Dialer{Timeout: reachWithin}).DialContext, ResponseHeaderTimeout: patience,
		ExpectContinueTimeout: 10 * patience, ForceAttemptHTTP2: true,
	}
	c := &Client{token: l.Token, http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	switch {
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "unix", u.Path)
			allowed := !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist)
			if err != nil && allowed && ctx.Err() == nil { // a hub that was killed leaves its socket
				err = fmt.Errorf("%w. Start it: systemctl start fettle-hub. If this machine is to have none, remove %s: %w", ErrStopped, u.Path, err)
			}
			return conn, err
		}
		c.base, c.streams = "http://hub", oneConnection(transport, c.http)
		return c, nil
	case u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil:
		if err := fleet.CheckDigest(l.Authority); err != nil {
			return nil, fmt.Errorf("cannot tell which hub to believe: %w", err)
		}
		transport.TLSClientConfig = believing(l.Authority)
		c.base, c.streams = "https://"+u.Host, oneConnection(transport, c.http)
		return c, nil
	}
	return nil, fmt.Errorf("cannot read %.80q as the address of a hub: it is https://HOST:PORT", l.Hub)
}

// DigestOf is what an authority's certificate is pinned by.
func DigestOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ErrStranger is in the chain of the error about who is no hub of the authority.
var ErrStranger = errors.New("it is no hub of the fleet that was logged in to")

// believing takes hubs of one authority only.
func believing(authority string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it: there is no host name to compare
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(s.PeerCertificates, authority) },
	}
}

func verify(chain []*x509.Certificate, authority string) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range chain {
		if DigestOf(c) == authority && c.IsCA {
			roots.AddCert(c)
		} else {
			between.AddCert(c)
		}
	}
	if len(chain) == 0 || !isHub(chain[0]) {
		return ErrStranger
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	return nil
}

// isHub tells whether the one name of a certificate is that of a hub.
func isHub(c *x509.Certificate) bool {
	return len(c.URIs) == 1 && c.URIs[0].Scheme == "fettle" && strings.HasPrefix(c.URIs[0].Path, "/hub/")
}

// Authority asks who stands behind a hub, believing nobody: the digest is to be compared
// by other means.
func Authority(ctx context.Context, hub string) (string, error) {
	u, err := url.Parse(hub)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("cannot read %.80q as the address of a hub: it is https://HOST:PORT", hub)
	}
	var found string
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
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
		err = fmt.Errorf("cannot find an authority behind %s: it shows no certificate of one", hub)
	}
	return found, errors.Join(err, conn.Close())
}

// request makes one. in nil sends no body.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("cannot ask the hub: %w", err)
		}
		body = bytes.NewReader(b)
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the hub: %w", err)
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// send gives the answer when it is a good one.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	return c.answer(c.http, r, http.StatusOK)
}

// answer is that of a hub by one of the two ways to ask it, when it is the one wanted.
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
		return nil, fmt.Errorf("cannot ask %s: it answers %s, which no hub does", c.base, answer.Status)
	}
	return nil, p
}

// call sends one request and reads the document that comes back.
//
// The body of a request waits until the hub has the header and answers 100 Continue (RFC 9110,
// section 10.1.1). If the network delays a request until the caller has given up, the hub gets a header
// without a body, and does nothing. Otherwise a freeze could take effect minutes after its caller saw
// an error, and after an unfreeze through another hub.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (T, error) {
	var out T
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	r, err := c.request(ctx, method, path, query, in)
	if err != nil {
		return out, err
	}
	if in != nil {
		r.Header.Set("Expect", "100-continue")
	}
	answer, err := c.send(r)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	return out, nil
}
