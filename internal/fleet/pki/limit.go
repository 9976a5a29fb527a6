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
	// renewEvery is how often a target may renew in the long run: it has to twice a day.
	renewEvery = 10 * time.Minute
)

// Limit bounds how often an address may fail; who does not fail is not bounded, so that
// many hosts behind one address may enrol. The zero value is ready; its methods may be
// called from any goroutine. A network of IPv6 (/64) counts as one address.
type Limit struct {
	mu  sync.Mutex
	all buckets
}

// network is the IPv4 address, also of an IPv6 form of it, or the network of an IPv6 address.
func network(a netip.Addr) string {
	a = a.Unmap()
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // an address has that many bits
	return p.String()
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
		l.all = buckets{}
	}
	l.all.take(network(a), limitEvery, now)
}

// pace bounds how often each of some may do a thing that succeeds. The zero value is
// ready, and may be used from any goroutine.
type pace struct {
	mu  sync.Mutex
	all buckets
}

// allows counts one time, and tells whether it is one too many.
func (p *pace) allows(who string, every time.Duration, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = buckets{}
	}
	return p.all.take(who, every, now)
}

// buckets are what is left to each.
type buckets map[string]*rate.Limiter

func (b buckets) take(who string, every time.Duration, now time.Time) bool {
	if b[who] == nil {
		b.room(now)
		b[who] = rate.NewLimiter(rate.Every(every), limitBurst)
	}
	return b[who].AllowN(now, 1)
}

// room forgets those that have nothing to answer for; if there are too many of the
// others, all: memory is bounded, and a flood from everywhere is not stopped here.
func (b buckets) room(now time.Time) {
	if len(b) < limitAddresses {
		return
	}
	for who, left := range b {
		if left.TokensAt(now) >= limitBurst {
			delete(b, who)
		}
	}
	if len(b) >= limitAddresses {
		clear(b)
	}
}
