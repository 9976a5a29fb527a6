package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// maxPaths bounds how many certificates are remembered; when there are more all are
// forgotten.
const maxPaths = 1 << 16

// minPaths are never too many: certificates live for a day, and to look through all costs.
const minPaths = 1 << 10

// Paths remembers of certificates that an authority vouches for them: a target shows the
// same one with each connection and each request for a day, and to see that it is right
// takes longer than most of what it asks for. The zero value is ready, and of one Trust;
// its methods may be called from any goroutine.
type Paths struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte]way
	tidy int // with so many those that ended are forgotten
	// issuers are the paths of those that vouch for certificates, by their digests. Thousands
	// of certificates that come in a minute, none of which was seen before, have the same few.
	issuers map[[sha256.Size]byte][]*x509.Certificate
}

// maxIssuers bounds how many are remembered: a hub makes one in a while, and a fleet has few
// hubs.
const maxIssuers = 100

// issuer gives the path of one at a moment, from memory or by looking for it.
func (p *Paths) issuer(c *x509.Certificate, at time.Time, look func() ([]*x509.Certificate, error)) ([]*x509.Certificate, error) {
	key := sha256.Sum256(c.Raw)
	p.mu.Lock()
	path := p.issuers[key]
	p.mu.Unlock()
	if path != nil && !slices.ContainsFunc(path, func(c *x509.Certificate) bool { return at.Before(c.NotBefore) || at.After(c.NotAfter) }) {
		return path, nil
	}
	path, err := look()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.issuers == nil || len(p.issuers) >= maxIssuers {
		p.issuers = map[[sha256.Size]byte][]*x509.Certificate{}
	}
	p.issuers[key] = path
	return path, nil
}

// way is a path that was right from one moment to another.
type way struct {
	from, until time.Time
	steps       []waypoint // without the authority
}

// waypoint is one certificate of a path.
type waypoint struct {
	name   Name
	serial string
}

// newWaypoint keeps nothing of a certificate but this. There is one for each that is shown,
// while what vouches for them is the same of all.
func newWaypoint(n Name, serial string, shown bool) waypoint {
	if n.Fleet, n.Kind = fleet.Word(n.Fleet), fleet.Word(n.Kind); shown {
		n.ID = strings.Clone(n.ID) // else the whole URL would stay
	} else {
		n.ID, serial = fleet.Word(n.ID), fleet.Word(serial)
	}
	return waypoint{n, serial}
}

// find gives the way of a chain at a moment, from memory or by looking for it. Nothing is
// remembered of a chain that is not right.
func (p *Paths) find(chain []*x509.Certificate, kind Kind, at time.Time, look func([]*x509.Certificate, Kind, time.Time) (way, error)) (way, error) {
	if p == nil {
		return look(chain, kind, at)
	}
	key := pathKey(chain, kind)
	p.mu.Lock()
	w, known := p.all[key]
	p.mu.Unlock()
	if known && !at.Before(w.from) && !at.After(w.until) {
		return w, nil
	}
	w, err := look(chain, kind, at)
	if err != nil {
		return way{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= maxPaths {
		p.all = map[[sha256.Size]byte]way{}
	}
	p.all[key] = w
	if len(p.all) > p.tidy {
		maps.DeleteFunc(p.all, func(_ [sha256.Size]byte, w way) bool { return at.After(w.until) })
		p.tidy = 2*len(p.all) + minPaths
	}
	return w, nil
}

// pathKey is the digest of all that was shown.
func pathKey(chain []*x509.Certificate, kind Kind) (key [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain {
		sum := sha256.Sum256(c.Raw)
		_, _ = h.Write(sum[:]) // a digest takes all
	}
	_, _ = h.Write([]byte(kind))
	h.Sum(key[:0])
	return key
}
