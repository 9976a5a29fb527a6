package pki

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Parameters of Limit: the number of failures at once, the time for each further failure, and the
// number of addresses.
const (
	limitBurst     = 20
	limitEvery     = 3 * time.Second
	limitAddresses = 10_000
	// renewEvery is the average interval in which a target may renew. A target renews about twice a
	// day.
	renewEvery = 10 * time.Minute
)

// Limit limits the failures of each address. Successes are not limited, so that many hosts can
// enrol behind one address. The zero value is ready to use; its methods may be called from any
// goroutine. A network of IPv6 (/64) counts as one address.
type Limit struct {
	mu  sync.Mutex
	all buckets
}

// network returns an IPv4 address, also of its IPv6 form, or the /64 network of an IPv6 address.
func network(a netip.Addr) string {
	a = a.Unmap()
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // the address has at least that many bits
	return p.String()
}

// Allows returns true if the address may try now.
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

// pace limits how often each key may perform a successful operation. The zero value is ready to
// use, also from several goroutines.
type pace struct {
	mu  sync.Mutex
	all buckets
}

// allows counts one operation, and returns false if it exceeds the limit.
func (p *pace) allows(who string, every time.Duration, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = buckets{}
	}
	return p.all.take(who, every, now)
}

// buckets have the token bucket of each key.
type buckets map[string]*rate.Limiter

func (b buckets) take(who string, every time.Duration, now time.Time) bool {
	if b[who] == nil {
		b.room(now)
		b[who] = rate.NewLimiter(rate.Every(every), limitBurst)
	}
	return b[who].AllowN(now, 1)
}

// room removes the full buckets if there are too many, and all buckets if that does not suffice:
// memory is limited. Limit does not stop a flood from very many addresses.
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
