package line

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// addresses is how many addresses are needed to use all of a limit for strangers: one address has at
// most this part of it.
const addresses = 4

// tally counts the open connections of a listener. A stranger is a connection that has not
// authenticated. The zero value has counted nothing.
type tally struct {
	open, strangers int
	of              map[netip.Prefix]int // strangers of each address
}

// add counts a new stranger, unless one of the limits is reached.
func (t *tally) add(from netip.Prefix, most, strangers int) bool {
	if t.open >= most || t.strangers >= strangers || t.of[from] >= max(1, strangers/addresses) {
		return false
	}
	if t.of == nil {
		t.of = map[netip.Prefix]int{}
	}
	t.open++
	t.strangers++
	t.of[from]++
	return true
}

// known moves a stranger out of the limits for strangers. It remains counted as open.
func (t *tally) known(from netip.Prefix) {
	t.strangers--
	if t.of[from]--; t.of[from] <= 0 {
		delete(t.of, from)
	}
}

// remove counts the end of a connection.
func (t *tally) remove(from netip.Prefix, stranger bool) {
	t.open--
	if stranger {
		t.known(from)
	}
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
