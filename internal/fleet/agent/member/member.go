// Package member is what a host has of its fleet once it is enrolled: its identity, the
// link to the hubs, and content that it verified. An agent is made of it.
//
//	m, err := member.Open(member.Config{Files: files, Dir: "/var/lib/fettle/agent", Now: time.Now})
//	link, err := m.Link(ctx)
//	assignment, err := m.Verify(envelope)
//
// In the directory, besides what an agent keeps there, are
//
//	identity/     the key, its certificate, and what is believed; see pki.Directory
//	content/      bundles and proofs; see content.Store
//	floors.json   the times of the newest commits that were taken, see content.MinimumCommits
//	accepted.json  the last accepted commits, see content.Accepted
//	protocol.json  why hubs refuse this agent: no protocol version in common
//	signatures-required   signatures are asked for, whether or not the file of keys is there
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

// Config is where a member lies, and what it asks of content.
type Config struct {
	Files host.FS
	Dir   string // of the agent, absolute
	// Signers gives the keys that commits have to be signed with, in the form of OpenSSH's
	// allowed_signers. It is asked whenever something is to be believed, so that a key
	// which is taken out counts no more. nil, and nil without an error, asks for no
	// signature, unless it gave keys before: a file that is gone is no consent.
	Signers func() ([]byte, error)
	// Descent returns what this host requires of the history of commits. It is called at each
	// verification. nil requires nothing.
	Descent func() (content.Descent, error)
	Now     func() time.Time
	Warn    func(text string) // told what is worth a line in the log; nil: nobody
	// Dial connects to hubs by HTTPS; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Member is one. Its methods may be called from any goroutine.
type Member struct {
	cfg       Config
	directory pki.Directory
	store     *content.Store
	revoked   *pki.Revocations

	// turn belongs to whoever changes the identity's file: it is taken before mu.
	turn sync.Mutex
	// believing is held while an assignment is verified. It is taken before mu.
	believing sync.Mutex
	adopting  atomic.Bool // a certificate of another hub is asked for

	mu             sync.Mutex
	identity       *pki.Identity
	known          pki.Known
	minimumCommits content.MinimumCommits
	accepted       content.Accepted
	retained       map[string]bool // content that is needed, by digest; nil until somebody said
	link           fleet.Link      // nil until there is one
	asked          time.Time       // when a certificate was asked for since another was refused
}

// IdentityDir is where the identity lies below the agent's directory.
func IdentityDir(dir string) string { return path.Join(dir, "identity") }

// Open reads who this host is. pki.ErrNoIdentity is in the chain of the error where it
// is not enrolled.
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
		cfg.Warn(err.Error()) // the agent goes on with what it has, and reports why it takes nothing new
	} else if err != nil {
		return nil, err
	}
	if m.minimumCommits, err = loadMinimumCommits(cfg.Files, m.minimumCommitsFile()); err != nil {
		return nil, err
	}
	if m.accepted, err = loadAccepted(cfg.Files, m.acceptedFile()); err != nil {
		return nil, err
	}
	keys := m.keys()
	for _, envelope := range m.known.Revocations {
		if _, err := m.revoked.Add(envelope, keys); err != nil {
			cfg.Warn(fmt.Sprintf("a revocation that was kept is not believed: %v", err))
		}
	}
	return m, nil
}

// ID is the target's.
func (m *Member) ID() fleet.TargetID { return m.who().ID }

// Name is the target's.
func (m *Member) Name() string { return m.who().Name }

// Fleet is the name of the fleet.
func (m *Member) Fleet() string { return m.who().Fleet }

// Hubs are the URLs of the hubs.
func (m *Member) Hubs() []string { return m.who().Hubs }

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

// tls is for a new connection, with the certificate as it is now.
func (m *Member) tls() (*tls.Config, error) {
	return m.who().TLS(m.revoked, m.cfg.Now, m.minimumTime), nil
}

// Link connects to the hubs in the background, until ctx ends or it is closed.
func (m *Member) Link(ctx context.Context) (fleet.Link, error) {
	id := m.who()
	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id.ID, URLs: id.Buses, Where: m.buses, TLS: m.tls, Warn: m.cfg.Warn, Refused: m.refused, Protocol: m.noteProtocol})
	if err != nil {
		return nil, err
	}
	return l, m.listen(ctx, l)
}

// Contact proves that a hub can be reached by a connection that is made now.
func (m *Member) Contact(ctx context.Context) error {
	return m.connect(ctx, func(context.Context, fleet.Link) error { return nil })
}

// Request asks a hub for something for this target, by a connection of its own: it may run
// beside the agent. The answer is AskDone or AskHeld; whatever is refused is an error.
func (m *Member) Request(ctx context.Context, a fleet.Request) (answer fleet.RequestAnswer, err error) {
	err = m.connect(ctx, func(ctx context.Context, l fleet.Link) error {
		answer, err = RequestOver(ctx, l, a)
		return err
	})
	return answer, err
}

// RequestOver is Request over a link that there is.
func RequestOver(ctx context.Context, l fleet.Link, a fleet.Request) (answer fleet.RequestAnswer, err error) {
	body, err := json.Marshal(a)
	if err != nil {
		return answer, err
	}
	said, err := l.Ask(ctx, fleet.WordRequest, body)
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	return answer, err
}

// ListsOver asks which certificates of services are forbidden.
func ListsOver(ctx context.Context, l fleet.Link) (out fleet.Lists, err error) {
	said, err := l.Ask(ctx, fleet.WordLists, nil)
	if err == nil {
		err = json.Unmarshal(said, &out)
	}
	return out, err
}

// Authorities are what all certificates of the fleet come from.
func (m *Member) Authorities() []*x509.Certificate { return m.who().Authorities() }

// connect makes a connection to a hub, and closes it after use.
func (m *Member) connect(ctx context.Context, use func(context.Context, fleet.Link) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := m.who()
	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id.ID, URLs: id.Buses, TLS: m.tls})
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

// Verify opens an assignment that a hub of this fleet signed. What was signed moves the
// time before which nothing is believed any more.
func (m *Member) Verify(envelope []byte) (fleet.Assignment, error) {
	a, signatures, err := fleet.OpenSigned(envelope, m.keys())
	if errors.Is(err, fleet.ErrUnsigned) {
		// It may be of a hub that is newer than what this target knows.
		m.ask(context.Background())
		a, signatures, err = fleet.OpenSigned(envelope, m.keys())
	}
	if err != nil {
		return a, err
	}
	for _, sig := range signatures {
		if by := m.who().Signer(sig.KeyID); by != nil {
			m.mu.Lock()
			m.known.MinimumTime = pki.Raise(time.Unix(0, m.known.MinimumTime), time.Unix(a.Issued, 0), by).UnixNano()
			err := m.directory.SaveKnown(m.known) // one writer of the file at a time
			m.mu.Unlock()
			if err != nil {
				m.cfg.Warn(err.Error())
			}
		}
	}
	return a, nil
}

// Certificate is the life of the one in use, in seconds since 1970.
func (m *Member) Certificate() (from, until int64) {
	c := m.who().Certificate()
	return c.NotBefore.Unix(), c.NotAfter.Unix()
}

// Renew gets the next certificate. Connections that are made from then on show it.
func (m *Member) Renew(ctx context.Context) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	next, err := pki.Client{Directory: m.directory, Now: m.cfg.Now, Dial: m.cfg.Dial, Keep: m.keep}.Renew(ctx, m.revoked)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.identity = next
	known := m.known
	m.mu.Unlock()
	keys := m.keys()
	for _, e := range known.Revocations {
		_, _ = m.revoked.Add(e, keys) // what is not believed is kept, and told when this begins anew
	}
	return nil
}

// keep changes what is known of the fleet: all that writes the file holds mu.
func (m *Member) keep(change func(pki.Known) pki.Known) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = change(m.known)
	return m.directory.SaveKnown(m.known)
}
