package agentconn

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// graceTime is how long a new stranger keeps its place against others of its own address.
const graceTime = time.Second

// tally counts the open connections of a listener. A stranger is a connection that has not
// authenticated. The zero value has counted nothing.
type tally struct {
	open, strangers int
	of              map[netip.Prefix]*crowd
}

// crowd is the strangers of one address.
type crowd struct {
	conns    map[*Bounded]struct{}
	progress time.Time // the last authentication, or the arrival of the first connection
}

// room reports whether another stranger is within the limits.
func (t *tally) room(most, strangers int) bool { return t.open < most && t.strangers < strangers }

// add counts a new stranger.
func (t *tally) add(b *Bounded) {
	if t.of == nil {
		t.of = map[netip.Prefix]*crowd{}
	}
	if t.of[b.from] == nil {
		t.of[b.from] = &crowd{conns: map[*Bounded]struct{}{}, progress: b.opened}
	}
	t.open++
	t.strangers++
	t.of[b.from].conns[b] = struct{}{}
}

// known moves a stranger out of the limit for strangers. It remains counted as open.
func (t *tally) known(b *Bounded, now time.Time) {
	t.of[b.from].progress = now
	t.forget(b)
}

// remove counts the end of a connection.
func (t *tally) remove(b *Bounded) {
	t.open--
	if b.stranger {
		t.forget(b)
	}
}

func (t *tally) forget(b *Bounded) {
	t.strangers--
	c := t.of[b.from]
	if delete(c.conns, b); len(c.conns) == 0 {
		delete(t.of, b.from)
	}
}

// largest returns the strangers of the address with the most strangers, counting a new one of from.
func (t *tally) largest(from netip.Prefix) *crowd {
	own := t.of[from]
	most, size := own, 1
	if own != nil {
		size += len(own.conns)
	}
	for place, c := range t.of {
		if place != from && len(c.conns) >= size {
			most, size = c, len(c.conns)
		}
	}
	return most
}

// yields returns the stranger whose place a new one of from gets if there is no room, or nil. The
// address with the most strangers loses one. A new connection does not displace connections of its
// own address before graceTime. So one address can have all places that no other address needs.
func (t *tally) yields(from netip.Prefix, now time.Time) *Bounded {
	c := t.largest(from)
	if c == nil {
		return nil
	}
	var last *Bounded
	for b := range c.conns { // in random order: each connection of a flood has the same chance
		if last = b; now.Sub(b.opened) >= graceTime {
			return b
		}
	}
	if c == t.of[from] {
		return nil
	}
	return last
}

// advances reports whether an address has most of the places, and made progress within that time: a
// place is soon free.
func (t *tally) advances(from netip.Prefix, within time.Duration, now time.Time) bool {
	c := t.of[from]
	return c != nil && 2*len(c.conns) > t.strangers && now.Sub(c.progress) < within
}

// addressOf returns the address of the other end, or the zero address.
func addressOf(c net.Conn) netip.Addr {
	a, _ := c.RemoteAddr().(*net.TCPAddr)
	return a.AddrPort().Addr()
}

// placeOf returns the address that limits apply to: an IPv4 address, or a network of IPv6 (/64).
func placeOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // the zero address has the zero prefix
	return p
}

// Seldom limits how often a message is logged, so that strangers cannot fill a log. The zero
// value is ready. It is not safe for concurrent use.
type Seldom struct {
	last    time.Time
	skipped int
}

// seldomEvery is the time between two messages of a Seldom.
const seldomEvery = time.Minute

// Next returns the text to log now, or "" for nothing. The text names how many messages were
// omitted since the last one.
func (s *Seldom) Next(text string, now time.Time) string {
	if !s.last.IsZero() && now.Sub(s.last) < seldomEvery {
		s.skipped++
		return ""
	}
	if s.skipped > 0 {
		text = fmt.Sprintf("%s (%d similar messages omitted)", text, s.skipped)
	}
	s.last, s.skipped = now, 0
	return text
}
