package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestAddressesAreBoundedApart: each network may have one more failure every three seconds.
// Networks are forgotten only if there are too many, and networks without failures first.
func TestAddressesAreBoundedApart(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := netip.MustParseAddr("192.0.2.1")
	var l Limit
	for i := range limitBurst {
		if !l.Allows(a, now) {
			t.Fatalf("after %d failures nothing is allowed", i)
		}
		l.Failed(a, now)
	}
	for after, allowed := range map[time.Duration]bool{0: false, 3*time.Second - 1: false, 3 * time.Second: true} {
		if l.Allows(a, now.Add(after)) != allowed {
			t.Errorf("after %s: allowed %t", after, !allowed)
		}
	}
	for x, same := range map[string]string{"192.0.2.1": "192.0.2.1/32", "2001:db8::1": "2001:db8::/64", "2001:db8:0:0:ffff::2": "2001:db8::/64"} {
		if got := network(netip.MustParseAddr(x)); got != same {
			t.Errorf("%s is of %s", x, got)
		}
	}
	full := buckets{}
	for i := range 9_999 {
		full.take(fmt.Sprint(i), limitEvery, now)
	}
	full.take("one more", limitEvery, now.Add(time.Hour))
	if len(full) != 10_000 {
		t.Errorf("%d addresses with room for one more", len(full))
	}
	for range limitBurst {
		full.take("5", limitEvery, now.Add(time.Hour))
	}
	full.take("too many", limitEvery, now.Add(time.Hour))
	if _, kept := full["5"]; !kept || len(full) != 3 {
		t.Errorf("the address with failures is kept: %t, of %d", kept, len(full))
	}
	var p pace
	for i := range limitBurst + 1 {
		if p.allows("a", time.Hour, now) != (i < limitBurst) {
			t.Errorf("time %d", i)
		}
	}
	if !p.allows("b", time.Hour, now) || p.allows("a", time.Hour, now.Add(59*time.Minute)) || !p.allows("a", time.Hour, now.Add(2*time.Hour)) {
		t.Error("each has a pace of its own")
	}
}

// TestPathsAreBounded: the cache is limited, and a cached path is used only while all of its
// certificates are valid.
func TestPathsAreBounded(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	cert := func(n int) *x509.Certificate {
		return &x509.Certificate{Raw: binary.BigEndian.AppendUint32(nil, uint32(n)), NotBefore: at, NotAfter: at.Add(time.Hour)}
	}
	var p Paths
	looked := 0
	issuer := func(n int, at time.Time) {
		if _, err := p.issuer(cert(n), at, func() ([]*x509.Certificate, error) { looked++; return []*x509.Certificate{cert(n), cert(-1)}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for n := range maxIssuers {
		issuer(n, at)
	}
	issuer(0, at)
	issuer(0, at.Add(time.Hour))
	if looked != maxIssuers || len(p.issuers) != maxIssuers {
		t.Errorf("looked %d times, %d remembered", looked, len(p.issuers))
	}
	issuer(0, at.Add(time.Hour+1))
	issuer(1, at.Add(-1))
	if looked != maxIssuers+2 {
		t.Errorf("outside of its time, a path is used: looked %d times", looked)
	}
	if issuer(maxIssuers, at); len(p.issuers) > maxIssuers {
		t.Errorf("%d are remembered", len(p.issuers))
	}
	no := errors.New("no")
	if _, err := p.issuer(cert(999), at, func() ([]*x509.Certificate, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	crowded := Paths{all: map[[sha256.Size]byte]way{}, tidy: 1 << 20}
	for n := range 1<<16 + 1 {
		_, err := crowded.find([]*x509.Certificate{cert(n)}, TargetKind, at, func([]*x509.Certificate, Kind, time.Time) (way, error) { return way{}, nil })
		if want := n%(1<<16) + 1; err != nil || len(crowded.all) != want {
			t.Fatalf("%d of %d certificates are remembered: %v", len(crowded.all), n+1, err)
		}
	}
	var q Paths
	found := 0
	look := func([]*x509.Certificate, Kind, time.Time) (way, error) {
		found++
		return way{from: at, until: at.Add(time.Hour)}, nil
	}
	for _, when := range []time.Duration{0, time.Hour, time.Hour + 1, -1} {
		if _, err := q.find([]*x509.Certificate{cert(1)}, TargetKind, at.Add(when), look); err != nil {
			t.Fatal(err)
		}
	}
	if found != 3 {
		t.Errorf("looked %d times", found)
	}
	if _, err := q.find([]*x509.Certificate{cert(1)}, HubKind, at, look); err != nil || found != 4 {
		t.Errorf("another kind: looked %d times, %v", found, err)
	}
	if _, err := q.find([]*x509.Certificate{cert(1), cert(2)}, TargetKind, at, look); err != nil || found != 5 {
		t.Errorf("another chain: looked %d times, %v", found, err)
	}
}
