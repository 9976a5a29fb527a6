package pki

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
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
)

// maxAnswer is the maximum size of a hub's answer, in bytes.
const maxAnswer = 4 << 20

// ErrPending means that an operator must approve the target.
var ErrPending = errors.New("waiting for approval")

// Client enrols this host and renews its certificate. Only one process may use a directory at a
// time.
type Client struct {
	Directory Directory
	Now       func() time.Time
	// Dial opens connections; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Reenrol enrols a host that has an identity, with a new key.
	Reenrol bool
	// UpdateKnown changes the stored Known durably and atomically, together with other writers. nil means
	// that there are no other writers; Known is then stored in the directory.
	UpdateKnown func(change func(Known) Known) error
}

// coming is an unfinished enrolment. Its key is used for all attempts with the same token.
type coming struct {
	Token string `json:"token"` // its ID
	Key   string `json:"key"`   // PEM
}

// Enrol makes this host a target of the token's fleet, with a new key that stays on the host. It
// accepts a hub only if the token contains the digest of the hub's fleet CA. After any error or
// crash it may be called again, and continues. ErrPending is in the chain of the error until an
// operator has approved the target.
func (c Client) Enrol(ctx context.Context, hub string, token Token, name string) (*Identity, error) {
	if err := fleet.CheckName(name); err != nil {
		return nil, err
	}
	if _, err := c.Directory.Load(); !c.Reenrol && !errors.Is(err, ErrNoIdentity) {
		return nil, errors.Join(err,
			errors.New("cannot enrol this host: it has an identity already. To make another one, add --again"))
	}
	key, err := c.coming(token.ID)
	if err != nil {
		return nil, err
	}
	request, err := newRequest(key)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(Enrolment{Format: enrolmentFormat, Token: token.Text(), Request: string(request),
		Name: name})
	if err != nil {
		return nil, fmt.Errorf("cannot write the request to enrol: %w", err)
	}
	a, err := c.ask(ctx, hub+"/v1/enrol", body, pinned(token.Authority, c.Now))
	if err != nil {
		return nil, err
	}
	// A new identity can belong to another fleet, so the old Known is discarded.
	i, err := c.take(a, key, token.Authority, name, Known{})
	if err == nil {
		err = c.Directory.remove(comingFile)
	}
	return i, err
}

// take verifies and stores an answer, and merges its revocations into k. The host chose its name
// when it enrolled. A hub must not change it: signed jobs name their targets.
func (c Client) take(a Answer, key crypto.Signer, authority [32]byte, name string, k Known) (*Identity, error) {
	if a.Pending != "" {
		return nil, fmt.Errorf("cannot continue yet: %s: %w", a.Pending, ErrPending)
	}
	i, err := identityOf(a, key)
	if err != nil {
		return nil, err
	}
	if DigestOf(i.roots[0]) != authority || len(i.roots) != 1 {
		return nil, errors.New("cannot accept an identity of a different fleet CA")
	}
	if i.Name != name {
		return nil, fmt.Errorf("cannot accept the name %.60q from a hub: this host enrolled as %q. To change the name: fettle agent enrol --again --name NAME", i.Name, name)
	}
	if err := c.Directory.save(a, key); err != nil {
		return nil, err
	}
	return i, c.learn(a, i, k)
}

// learn stores the revocations of an answer, and the minimum time that its certificate proves.
func (c Client) learn(a Answer, i *Identity, k Known) error {
	var set Revocations
	floor := time.Unix(0, k.MinimumTime)
	keys := i.Keys(nil, c.Now(), floor)
	for _, e := range append(k.Revocations, a.Revocations...) {
		// An unreadable revocation must not block the other ones.
		_, _ = set.Add(e, keys)
	}
	issued := i.chain[0].NotBefore.Add(Backdate)
	proved := RaiseMinimumTime(floor, issued, i.chain[len(i.chain)-1]).UnixNano()
	change := func(now Known) Known {
		return Known{MinimumTime: max(now.MinimumTime, proved), Revocations: merged(now.Revocations, set.Envelopes())}
	}
	if c.UpdateKnown != nil {
		return c.UpdateKnown(change)
	}
	return c.Directory.SaveKnown(change(k))
}

// merged adds envelopes to the stored ones. A stored envelope stays even if its signer is no longer
// trusted.
func merged(kept, more [][]byte) [][]byte {
	seen := map[string]bool{}
	var out [][]byte
	for _, e := range append(kept, more...) {
		if !seen[string(e)] {
			seen[string(e)] = true
			out = append(out, e)
		}
	}
	return out
}

// coming returns the key of an enrolment with a token: the key of an earlier attempt, or a new one,
// which is stored before it is used.
func (c Client) coming(token string) (crypto.Signer, error) {
	var had coming
	text, err := c.Directory.read(comingFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if strictJSON(text, &had) == nil && had.Token == token {
		return oneKey([]byte(had.Key))
	}
	key, err := newP256()
	if err != nil {
		return nil, err
	}
	pem, err := encodeKeys(key)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(coming{token, string(pem)})
	if err == nil {
		err = c.Directory.write(comingFile, b, false)
	}
	return key, err
}

// Renew requests the next certificate from the hubs in turn, and stores it. If no hub answers, the
// identity stays unchanged. ErrPending is in the chain of the error if the host was offline for too
// long.
func (c Client) Renew(ctx context.Context, revoked *Revocations) (*Identity, error) {
	i, err := c.Directory.Load()
	if err != nil {
		return nil, err
	}
	k, err := c.Directory.LoadKnown()
	if err != nil {
		return nil, err
	}
	floor := func() time.Time { return time.Unix(0, k.MinimumTime) }
	known := knownTo(i, k, c.Now())
	body, err := json.Marshal(Renewal{Format: renewalFormat, Known: known.Digest()})
	if err != nil {
		return nil, fmt.Errorf("cannot write the request for a certificate: %w", err)
	}
	var failed []error
	for _, hub := range i.HubURLs {
		a, err := c.ask(ctx, hub+"/v1/renew", body, i.TLS(revoked, c.Now, floor))
		if err != nil {
			failed = append(failed, err)
			continue
		}
		next, err := c.take(a, i.key, DigestOf(i.roots[0]), i.Name, k)
		if err != nil {
			return nil, err
		}
		return next, c.tell(ctx, hub, a, next, revoked)
	}
	if len(failed) == 0 {
		failed = append(failed,
			errors.New("cannot renew the certificate: the identity of this host has no address of a hub. Enrol the host again: fettle agent enrol --again"))
	}
	return nil, errors.Join(failed...)
}

// knownTo returns the revocations of k that the target can verify now.
func knownTo(i *Identity, k Known, now time.Time) *Revocations {
	var set Revocations
	keys := i.Keys(nil, now, time.Unix(0, k.MinimumTime))
	for _, e := range k.Revocations {
		// Envelopes that cannot be verified now are not sent to hubs.
		_, _ = set.Add(e, keys)
	}
	return &set
}

// tell sends a hub the revocations that it does not have. The hub can have lost its store, or its
// connection to the hub that signed them. Errors of the hub are ignored, since the certificate is
// valid: the next renewal sends them again.
func (c Client) tell(ctx context.Context, hub string, a Answer, i *Identity, revoked *Revocations) error {
	k, err := c.Directory.LoadKnown()
	if err != nil {
		return err
	}
	known := knownTo(i, k, c.Now())
	if a.Known == "" || a.Known == known.Digest() {
		return nil
	}
	r := Renewal{Format: renewalFormat}
	size := 0
	for _, e := range known.Envelopes() {
		if size += len(e)*4/3 + 8; size < maxFacts/2 {
			r.Revocations = append(r.Revocations, e)
		}
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot send revocations to a hub: %w", err)
	}
	floor := func() time.Time { return time.Unix(0, k.MinimumTime) }
	_, _, _ = c.post(ctx, hub+"/v1/facts", body, i.TLS(revoked, c.Now, floor))
	return nil
}

// pinned accepts a hub if its fleet CA has the digest, under any address.
func pinned(authority [32]byte, now func() time.Time) *tls.Config {
	c := Trust{}.ClientTLS(nil, now, nil)
	c.VerifyConnection = func(s tls.ConnectionState) error {
		for _, root := range s.PeerCertificates {
			if DigestOf(root) != authority {
				continue
			}
			name, err := fleetOf(root)
			if err != nil {
				return err
			}
			return Trust{Fleet: name, Authorities: []*x509.Certificate{root}}.ClientTLS(nil, now, nil).VerifyConnection(s)
		}
		return errors.New("cannot trust this hub: it does not belong to the fleet of the token. Check that the address and the token are of the same fleet")
	}
	return c
}

// ask sends a POST request to a hub and decodes the answer.
func (c Client) ask(ctx context.Context, address string, body []byte, conf *tls.Config) (Answer, error) {
	status, b, err := c.post(ctx, address, body, conf)
	if err != nil {
		return Answer{}, err
	}
	return readAnswer(status, b)
}

// post sends a POST request to a hub, on a connection of its own.
func (c Client) post(ctx context.Context, address string, body []byte, conf *tls.Config) (int, []byte, error) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return 0, nil, fmt.Errorf("cannot connect to %.200q: the address of a hub must be https://NAME:PORT",
			strings.TrimSuffix(address, "/v1/enrol"))
	}
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: conf, DialContext: c.dial(), TLSHandshakeTimeout: reachWithin,
			ResponseHeaderTimeout: answerWithin, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("cannot send a request to a hub: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	p, err := client.Do(q)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL path does not help the reader
		}
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			err = fmt.Errorf(
				"it does not answer: %w. Check the address, that a hub runs there, and that no packet filter drops its port", err)
		}
		return 0, nil, fmt.Errorf("cannot ask the hub at %s: %w", q.URL.Host, err)
	}
	defer p.Body.Close()
	b, err := io.ReadAll(io.LimitReader(p.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, fmt.Errorf("cannot read the answer of %s: %w", address, err)
	}
	return p.StatusCode, b, nil
}

func readAnswer(status int, b []byte) (Answer, error) {
	if len(b) > maxAnswer {
		return Answer{}, fmt.Errorf("cannot read an answer of a hub of more than %d bytes", maxAnswer)
	}
	if status != http.StatusOK && status != http.StatusAccepted {
		var p problem
		if json.Unmarshal(b, &p) != nil || p.Error == "" {
			return Answer{}, fmt.Errorf(
				"cannot read the answer: its HTTP status is %d. Check that this is the address of a hub", status)
		}
		return Answer{}, &Refusal{Status: status, Text: p.Error}
	}
	var a Answer
	if err := json.Unmarshal(b, &a); err != nil {
		return Answer{}, fmt.Errorf("cannot read the answer of a hub: %w", err)
	}
	if a.Format != answerFormat {
		return Answer{}, fmt.Errorf("cannot read an answer of the format %.40q: this version of fettle supports %s",
			a.Format, answerFormat)
	}
	return a, nil
}

// reachWithin limits the time to connect to a hub.
const reachWithin = 8 * time.Second

// answerWithin limits the time until a connected hub begins its answer.
const answerWithin = 30 * time.Second

func (c Client) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial
	}
	return (&net.Dialer{Timeout: reachWithin}).DialContext
}
