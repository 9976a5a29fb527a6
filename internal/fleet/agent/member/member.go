// Package member is the membership of an enrolled host in its fleet: its identity, its connection
// to the hubs, and its verified content. The agent is built on it.
//
//	m, err := member.Open(member.Config{Files: files, Dir: "/var/lib/fettle/agent", Now: time.Now})
//	link, err := m.Link(ctx)
//	assignment, err := m.Verify(envelope)
//
// The directory also contains the files of package durable. The member adds
//
//	identity/     the key, its certificate, and the trusted certificates; see pki.Directory
//	content/      bundles and proofs; see content.Store
//	floors.json   the minimum times of commits, see content.MinimumCommits
//	accepted.json  the last accepted commits, see content.Accepted
//	returns.json   the contents to which the host may return, see content.Returns
//	protocol.json  why hubs refuse this agent: no protocol version in common
//	signatures-required   signatures are required, even if the file of keys is missing
package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
)

// Config is the configuration of a member.
type Config struct {
	Files host.FS
	Dir   string // directory of the agent, absolute
	// Signers returns the keys that must sign commits, as a file in the format of OpenSSH's
	// allowed_signers. It is called at each verification, so that a removed key is no longer
	// trusted. A nil function, and a nil result without an error, mean that no signatures are
	// required. But after a call returned keys, a nil result is refused: a missing file must not
	// remove the requirement.
	Signers func() ([]byte, error)
	// Descent returns the settings of this host about the order of commits. It is called at each
	// verification. nil: the zero value.
	Descent func() (content.Descent, error)
	Now     func() time.Time
	Warn    func(text string) // called with messages for the log; nil: they are dropped
	// Dial connects to hubs for HTTPS; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Member is the membership of this host. Its methods can be called from any goroutine.
type Member struct {
	cfg       Config
	directory pki.Directory
	store     *content.Store
	revoked   *pki.Revocations

	// turn serializes changes of the identity. It is locked before mu.
	turn sync.Mutex
	// believing is locked while an assignment is verified. It is locked before mu.
	believing sync.Mutex
	adopting  atomic.Bool // adopt is running

	mu             sync.Mutex
	identity       *pki.Identity
	known          pki.Known
	minimumCommits content.MinimumCommits
	accepted       content.Accepted
	returns        content.Returns
	retained       map[string]bool // digests of needed content; nil before the first Retain
	link           fleet.Link      // nil before the first connection
	asked          time.Time       // time of the last request of a certificate after a refusal
}

// IdentityDir returns the directory of the identity in the agent's directory.
func IdentityDir(dir string) string { return path.Join(dir, "identity") }

// Open reads the identity of this host. pki.ErrNoIdentity is in the chain of the error if it is not
// enrolled.
func Open(cfg Config) (*Member, error) {
	if cfg.Warn == nil {
		cfg.Warn = func(string) {}
	}
	m := &Member{cfg: cfg, directory: pki.Directory{FS: cfg.Files, Dir: IdentityDir(cfg.Dir)}, revoked: &pki.Revocations{}}
	var err error
	if m.identity, err = m.directory.Load(); err != nil {
		return nil, err
	}
	if m.known, err = m.directory.LoadKnown(); err != nil {
		return nil, err
	}
	if m.store, err = content.OpenStore(cfg.Files, path.Join(cfg.Dir, "content"), 0); err != nil {
		return nil, err
	}
	if _, err := m.signers(); errors.Is(err, errSignersGone) {
		cfg.Warn(err.Error()) // the agent maintains the applied configuration, and reports why it accepts nothing new
	} else if err != nil {
		return nil, err
	}
	if m.minimumCommits, err = loadMinimumCommits(cfg.Files, m.minimumCommitsFile()); err != nil {
		return nil, err
	}
	if m.accepted, err = loadAccepted(cfg.Files, m.acceptedFile()); err != nil {
		return nil, err
	}
	if m.returns, err = loadReturns(cfg.Files, cfg.Dir); err != nil {
		return nil, err
	}
	keys := m.keys()
	for _, envelope := range m.known.Revocations {
		if _, err := m.revoked.Add(envelope, keys); err != nil {
			cfg.Warn(fmt.Sprintf("the agent ignores a stored revocation, because it cannot verify it: %v", err))
		}
	}
	return m, nil
}

// ID returns the ID of this target.
func (m *Member) ID() fleet.TargetID { return m.who().ID }

// Name returns the name of this target.
func (m *Member) Name() string { return m.who().Name }

// Fleet returns the name of the fleet.
func (m *Member) Fleet() string { return m.who().Fleet }

// Hubs returns the URLs of the hubs.
func (m *Member) Hubs() []string { return m.who().HubURLs }

func (m *Member) who() *pki.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.identity
}

func (m *Member) minimumTime() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Unix(0, m.known.MinimumTime)
}

func (m *Member) keys() fleet.Keys {
	return m.who().Keys(m.revoked, m.cfg.Now(), m.minimumTime())
}

// tls returns the configuration of a new connection, with the current certificate.
func (m *Member) tls() (*tls.Config, error) {
	return m.who().TLS(m.revoked, m.cfg.Now, m.minimumTime), nil
}

// Link connects to the hubs in the background, until ctx ends or the link is closed.
func (m *Member) Link(ctx context.Context) (fleet.Link, error) {
	id := m.who()
	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, Where: m.buses, TLS: m.tls, Warn: m.cfg.Warn,
		Refused: m.refused, Protocol: m.noteProtocol})
	if err != nil {
		return nil, err
	}
	return l, m.listen(ctx, l)
}

// Contact succeeds if a new connection to a hub can be made.
func (m *Member) Contact(ctx context.Context) error {
	return m.connect(ctx, func(context.Context, fleet.Link) error { return nil })
}

// Request sends a request of this target to a hub through a new connection. It can run at the same
// time as the agent. The answer is fleet.RequestDone or fleet.RequestPending; a refusal is an error.
func (m *Member) Request(ctx context.Context, a fleet.Request) (answer fleet.RequestAnswer, err error) {
	err = m.connect(ctx, func(ctx context.Context, l fleet.Link) error {
		answer, err = RequestOver(ctx, l, a)
		return err
	})
	return answer, err
}

// RequestOver is Request through an existing connection.
func RequestOver(ctx context.Context, l fleet.Link, a fleet.Request) (answer fleet.RequestAnswer, err error) {
	body, err := json.Marshal(a)
	if err != nil {
		return answer, err
	}
	said, err := l.Ask(ctx, fleet.MessageRequest, body)
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	return answer, err
}

// ListsOver requests the revocation lists for certificates of services.
func ListsOver(ctx context.Context, l fleet.Link) (out fleet.Lists, err error) {
	said, err := l.Ask(ctx, fleet.MessageLists, nil)
	if err == nil {
		err = json.Unmarshal(said, &out)
	}
	return out, err
}

// Authorities returns the certificates of the fleet CA.
func (m *Member) Authorities() []*x509.Certificate { return m.who().Authorities() }

// connect makes a connection to a hub, and closes it after use.
func (m *Member) connect(ctx context.Context, use func(context.Context, fleet.Link) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := m.who()
	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: m.tls})
	if err != nil {
		return err
	}
	defer l.Close()
	up := make(chan struct{}, 1)
	l.Changes(func(is bool) {
		if is {
			select {
			case up <- struct{}{}:
			default:
			}
		}
	})
	select {
	case <-up:
		return use(ctx, l)
	case <-ctx.Done():
		return fleet.ErrNoHub
	}
}

// Verify opens an assignment that a hub of this fleet signed. The time of the signature raises the
// minimum time.
func (m *Member) Verify(envelope []byte) (fleet.Assignment, error) {
	a, signatures, err := fleet.OpenSigned(envelope, m.keys())
	if errors.Is(err, fleet.ErrUnsigned) {
		// A hub that this target does not know yet could have signed it.
		m.ask(context.Background())
		a, signatures, err = fleet.OpenSigned(envelope, m.keys())
	}
	if err != nil {
		return a, err
	}
	for _, sig := range signatures {
		if by := m.who().Signer(sig.KeyID); by != nil {
			m.mu.Lock()
			m.known.MinimumTime = pki.RaiseMinimumTime(time.Unix(0, m.known.MinimumTime), time.Unix(a.Issued, 0), by).UnixNano()
			err := m.directory.SaveKnown(m.known) // m.mu serializes the writers of this file
			m.mu.Unlock()
			if err != nil {
				m.cfg.Warn(err.Error())
			}
		}
	}
	return a, nil
}

// Certificate returns the validity of the current certificate, in seconds since 1970.
func (m *Member) Certificate() (from, until int64) {
	c := m.who().Certificate()
	return c.NotBefore.Unix(), c.NotAfter.Unix()
}

// Renew gets the next certificate. New connections use it.
func (m *Member) Renew(ctx context.Context) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	next, err := pki.Client{Directory: m.directory, Now: m.cfg.Now, Dial: m.cfg.Dial, UpdateKnown: m.keep}.Renew(ctx,
		m.revoked)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.identity = next
	known := m.known
	m.mu.Unlock()
	keys := m.keys()
	for _, e := range known.Revocations {
		_, _ = m.revoked.Add(e, keys) // unverifiable revocations stay stored, and the next start reports them
	}
	return nil
}

// keep changes and stores the known data of the fleet. m.mu serializes all writers of this file.
func (m *Member) keep(change func(pki.Known) pki.Known) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = change(m.known)
	return m.directory.SaveKnown(m.known)
}
