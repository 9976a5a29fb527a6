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

// maxPaths is the maximum number of cached paths; above it, all are removed.
const maxPaths = 1 << 16

// minPaths is a number of paths below which the cache is not searched for expired ones:
// certificates live for a day, and the search costs time.
const minPaths = 1 << 10

// Paths caches verified certificate paths. A target uses the same certificate for all connections
// and requests of a day, and verifying it takes longer than most requests. The zero value is ready
// to use, for one Trust; its methods may be called from any goroutine.
type Paths struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte]way
	tidy int // above this number, expired paths are removed
	// issuers are the paths of issuer certificates, by their digests. Thousands of new certificates
	// in a minute have the same few issuers.
	issuers map[[sha256.Size]byte][]*x509.Certificate
}

// maxIssuers is the maximum number of cached issuers: a hub rarely makes a new one, and a fleet has
// few hubs.
const maxIssuers = 100

// issuer returns the path of an issuer certificate at a time, from the cache or from look.
func (p *Paths) issuer(c *x509.Certificate, at time.Time,
	look func() ([]*x509.Certificate, error)) ([]*x509.Certificate, error) {
	key := sha256.Sum256(c.Raw)
	p.mu.Lock()
	path := p.issuers[key]
	p.mu.Unlock()
	if path != nil && !slices.ContainsFunc(path, func(c *x509.Certificate) bool {
		return at.Before(c.NotBefore) ||
			at.After(c.NotAfter)
	}) {
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

// way is a path that is valid from one time to another.
type way struct {
	from, until time.Time
	steps       []waypoint // without the fleet CA
}

// waypoint is one certificate of a path.
type waypoint struct {
	name   Name
	serial string
}

// newWaypoint copies the name and the serial, so that the certificate itself is not kept in memory.
// Strings of issuers are shared by all paths; the strings of the presented certificate are not.
func newWaypoint(n Name, serial string, shown bool) waypoint {
	if n.Fleet, n.Kind = fleet.Intern(n.Fleet), fleet.Intern(n.Kind); shown {
		n.ID = strings.Clone(n.ID) // otherwise the whole URL would stay in memory
	} else {
		n.ID, serial = fleet.Intern(n.ID), fleet.Intern(serial)
	}
	return waypoint{n, serial}
}

// find returns the path of a chain at a time, from the cache or from look. Invalid chains are not
// cached.
func (p *Paths) find(chain []*x509.Certificate, kind Kind, at time.Time,
	look func([]*x509.Certificate, Kind, time.Time) (way, error)) (way, error) {
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

// pathKey returns the digest of the chain and the kind.
func pathKey(chain []*x509.Certificate, kind Kind) (key [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain {
		sum := sha256.Sum256(c.Raw)
		_, _ = h.Write(sum[:]) // a hash accepts all bytes
	}
	_, _ = h.Write([]byte(kind))
	h.Sum(key[:0])
	return key
}
