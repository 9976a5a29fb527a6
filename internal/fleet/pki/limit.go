package pki

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of Limit: so many failures at once, then one each time, for so many addresses.
const (
	limitBurst     = 20
	limitEvery     = 3 * time.Second
	limitAddresses = 10_000
)

// Limit bounds how often an address may fail; who does not fail is not bounded, so that
// many hosts behind one address may enrol. The zero value is ready; its methods may be
// called from any goroutine. A network of IPv6 (/64) counts as one address.
type Limit struct {
	mu  sync.Mutex
	all map[netip.Prefix]*rate.Limiter
}

func network(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// Allows tells whether an address may try now.
func (l *Limit) Allows(a netip.Addr, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.all[network(a)]
	return b == nil || b.TokensAt(now) >= 1
}

// Failed counts a failure.
func (l *Limit) Failed(a netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[netip.Prefix]*rate.Limiter{}
	}
	n := network(a)
	if l.all[n] == nil {
		l.room(now)
		l.all[n] = rate.NewLimiter(rate.Every(limitEvery), limitBurst)
	}
	l.all[n].AllowN(now, 1)
}

// room forgets addresses that have nothing to answer for; if there are too many of the
// others, all: memory is bounded, and a flood from everywhere is not stopped here.
func (l *Limit) room(now time.Time) {
	if len(l.all) < limitAddresses {
		return
	}
	for n, b := range l.all {
		if b.TokensAt(now) >= limitBurst {
			delete(l.all, n)
		}
	}
	if len(l.all) >= limitAddresses {
		clear(l.all)
	}
}
