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

// maxAnswer bounds what is read of a hub, in bytes.
const maxAnswer = 4 << 20

// ErrPending is in the chain of the error about a target that somebody has to approve.
var ErrPending = errors.New("waiting for approval")

// Client enrols this host and renews its certificate. One process uses a directory at a
// time.
type Client struct {
	Directory Directory
	Now       func() time.Time
	// Dial opens connections; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Again enrols a host that has an identity, with a new key.
	Again bool
	// Keep changes what is known of the fleet, durably, as one step with whoever else does;
	// nil: nobody else does, and it lies in the directory.
	Keep func(change func(Known) Known) error
}

// coming is an enrolment that has not ended: the key lasts as long as the token does.
type coming struct {
	Token string `json:"token"` // its ID
	Key   string `json:"key"`   // PEM
}

// Enrol makes this host a target of the fleet that the token is of, with a key that it
// makes and keeps. The hub is believed only if the authority behind it is the one that
// the token names. It may be called again after any error and any crash, and then goes
// on where it was; ErrPending is in the chain of the error while approval is missing.
func (c Client) Enrol(ctx context.Context, hub string, token Token, name string) (*Identity, error) {
	if err := fleet.CheckName(name); err != nil {
		return nil, err
	}
	if _, err := c.Directory.Load(); !c.Again && !errors.Is(err, ErrNoIdentity) {
		return nil, errors.Join(err, errors.New("cannot enrol this host: it has an identity already. To make another one, add --again"))
	}
	key, err := c.coming(token.ID)
	if err != nil {
		return nil, err
	}
	request, err := newRequest(key)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(Enrolment{Format: enrolmentFormat, Token: token.Text(), Request: string(request), Name: name})
	if err != nil {
		return nil, fmt.Errorf("cannot ask to enrol: %w", err)
	}
	a, err := c.ask(ctx, hub+"/v1/enrol", body, pinned(token.Authority, c.Now))
	if err != nil {
		return nil, err
	}
	// A new identity may be of another fleet: what was known of the old one goes.
	i, err := c.take(a, key, token.Authority, name, Known{})
	if err == nil {
		err = c.Directory.remove(comingFile)
	}
	return i, err
}

// take keeps an answer, if it is of the authority that is believed, and learns from it
// beside what was known. The host chose its name when it enrolled: signed commands name their
// targets, so a hub must not give a host the name of another one.
func (c Client) take(a Answer, key crypto.Signer, authority [32]byte, name string, k Known) (*Identity, error) {
	if a.Pending != "" {
		return nil, fmt.Errorf("cannot continue yet: %s: %w", a.Pending, ErrPending)
	}
	i, err := identityOf(a, key)
	if err != nil {
		return nil, err
	}
	if DigestOf(i.roots[0]) != authority || len(i.roots) != 1 {
		return nil, errors.New("cannot take an identity of another authority")
	}
	if i.Name != name {
		return nil, fmt.Errorf("cannot accept the name %.60q from a hub: this host enrolled as %q. To change the name: fettle agent enrol --again --name NAME", i.Name, name)
	}
	if err := c.Directory.save(a, key); err != nil {
		return nil, err
	}
	return i, c.learn(a, i, k)
}

// learn keeps the revocations of an answer and the time that its certificate proves.
func (c Client) learn(a Answer, i *Identity, k Known) error {
	var set Revocations
	floor := time.Unix(0, k.MinimumTime)
	keys := i.Keys(nil, c.Now(), floor)
	for _, e := range append(k.Revocations, a.Revocations...) {
		// One that cannot be read here is no reason to do without the others.
		_, _ = set.Add(e, keys)
	}
	issued := i.chain[0].NotBefore.Add(Backdate)
	proved := Raise(floor, issued, i.chain[len(i.chain)-1]).UnixNano()
	change := func(now Known) Known {
		return Known{MinimumTime: max(now.MinimumTime, proved), Revocations: merged(now.Revocations, set.Envelopes())}
	}
	if c.Keep != nil {
		return c.Keep(change)
	}
	return c.Directory.SaveKnown(change(k))
}

// merged adds to what is kept: that somebody who signed is not believed now takes nothing
// away.
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

// coming is the key of an enrolment with a token: the one of an attempt before, or a new
// one, durable before anybody hears of it.
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

// Renew gets the next certificate from the first hub that answers, and keeps it. Without
// one the identity stays as it is. ErrPending is in the chain of the error of a host that
// was away for too long.
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
		return nil, fmt.Errorf("cannot ask for a certificate: %w", err)
	}
	var failed []error
	for _, hub := range i.Hubs {
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
		failed = append(failed, errors.New("cannot renew the certificate: the identity names no hub. Enrol anew with fettle agent enrol --again"))
	}
	return nil, errors.Join(failed...)
}

// knownTo is what a target knows and believes.
func knownTo(i *Identity, k Known, now time.Time) *Revocations {
	var set Revocations
	keys := i.Keys(nil, now, time.Unix(0, k.MinimumTime))
	for _, e := range k.Revocations {
		// What nobody believes now goes nowhere.
		_, _ = set.Add(e, keys)
	}
	return &set
}

// tell brings a hub the facts that it does not have: one that has lost its store, or was
// parted from the hub that signed them. That it cannot take them now is no reason to do
// without the certificate; the next renewal tells them again.
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
		return fmt.Errorf("cannot tell what is revoked: %w", err)
	}
	floor := func() time.Time { return time.Unix(0, k.MinimumTime) }
	_, _, _ = c.post(ctx, hub+"/v1/facts", body, i.TLS(revoked, c.Now, floor))
	return nil
}

// pinned believes a hub whose authority has the digest, whatever it is called.
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
		return errors.New("cannot believe this hub: it is not of the fleet that the token is for. See whether the address and the token belong together")
	}
	return c
}

// ask posts to a hub and reads what it gives.
func (c Client) ask(ctx context.Context, address string, body []byte, conf *tls.Config) (Answer, error) {
	status, b, err := c.post(ctx, address, body, conf)
	if err != nil {
		return Answer{}, err
	}
	return readAnswer(status, b)
}

// post posts to a hub, on a connection of its own.
func (c Client) post(ctx context.Context, address string, body []byte, conf *tls.Config) (int, []byte, error) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return 0, nil, fmt.Errorf("cannot ask %.200q: the address of a hub is https://NAME:PORT", strings.TrimSuffix(address, "/v1/enrol"))
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: conf, DialContext: c.dial(), TLSHandshakeTimeout: reachWithin, ResponseHeaderTimeout: answerWithin, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("cannot ask a hub: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	p, err := client.Do(q)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the path says nothing to who reads it
		}
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			err = fmt.Errorf("it does not answer: %w. Check the address, that a hub runs there, and that no packet filter drops its port", err)
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
			return Answer{}, fmt.Errorf("cannot understand what the hub answers: its status is %d. Is this the address of a hub?", status)
		}
		return Answer{}, &Refusal{Status: status, Text: p.Error}
	}
	var a Answer
	if err := json.Unmarshal(b, &a); err != nil {
		return Answer{}, fmt.Errorf("cannot read the answer of a hub: %w", err)
	}
	if a.Format != answerFormat {
		return Answer{}, fmt.Errorf("cannot read an answer of the format %.40q: this program knows %s", a.Format, answerFormat)
	}
	return a, nil
}

// reachWithin is how long a hub may take until it is connected.
const reachWithin = 8 * time.Second

// answerWithin is how long a connected hub may take until its answer begins.
const answerWithin = 30 * time.Second

func (c Client) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial
	}
	return (&net.Dialer{Timeout: reachWithin}).DialContext
}
