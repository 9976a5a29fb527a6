package pki

import (
	"net/netip"
	"testing"
	"time"
)

// Failures of one address do not limit another address, in any form of IPv4 addresses. Each form of
// one address has the same limit.
func TestLimitOfAddresses(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		fails, asks string
		allowed     bool
	}{
		{"192.0.2.1", "192.0.2.1", false},
		{"192.0.2.1", "192.0.2.2", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", true},
		{"::ffff:192.0.2.1", "192.0.2.1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", false},
		{"2001:db8::1", "2001:db8::2", false},
		{"2001:db8::1", "2001:db8:0:1::1", true},
		{"fe80::1%eth0", "fe80::1%eth0", false},
		{"fe80::1%eth0", "2001:db8::1", true},
	} {
		var l Limit
		for range limitBurst {
			l.Failed(netip.MustParseAddr(c.fails), now)
		}
		if got := l.Allows(netip.MustParseAddr(c.asks), now); got != c.allowed {
			t.Errorf("after failures of %s, Allows(%s) is %v", c.fails, c.asks, got)
		}
	}
}
