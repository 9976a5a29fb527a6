package pki_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

func seconds(min, max int64) *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(min, max), func(s int64) time.Time { return time.Unix(s, 0) })
}

// For any clock, a certificate is verified at a time of its validity that is not before the minimum
// time. If possible, this is the time of the clock. If the certificate expired before the minimum
// time, it is invalid.
func TestMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, floor, begin := seconds(0, 1000).Draw(t, "now"), seconds(0, 1000).Draw(t, "floor"),
			seconds(300, 700).Draw(t, "begin")
		c := &x509.Certificate{NotBefore: begin, NotAfter: begin.Add(100 * time.Second)}
		at, err := pki.VerificationTime(now, floor, c)
		if over := c.NotAfter.Before(floor); over != (err != nil) {
			t.Fatalf("over: %v, error: %v", over, err)
		}
		if err != nil {
			if !errors.Is(err, pki.ErrExpired) {
				t.Fatal(err)
			}
			return
		}
		if at.Before(c.NotBefore) || at.After(c.NotAfter) || at.Before(floor) {
			t.Fatalf("%v is no moment of it", at)
		}
		fits := !now.Before(c.NotBefore) && !now.After(c.NotAfter) && !now.Before(floor)
		if fits && !at.Equal(now) {
			t.Fatalf("the clock says %v, and that fits, but it is judged at %v", now, at)
		}
	})
}

// The minimum time never decreases. A hub can sign any time, but its next certificate is never
// below the minimum time.
func TestRaise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor, signed, end := seconds(0, 1000).Draw(t, "floor"), seconds(0, 100000).Draw(t, "signed"),
			seconds(0, 1000).Draw(t, "end")
		c := &x509.Certificate{NotAfter: end}
		got := pki.RaiseMinimumTime(floor, signed, c)
		if got.Before(floor) || got.After(floor) && got.After(end) {
			t.Fatalf("from %v to %v with a certificate until %v", floor, got, end)
		}
		if again := pki.RaiseMinimumTime(got, signed, c); !again.Equal(got) {
			t.Fatalf("again: %v, then %v", got, again)
		}
	})
}

func TestSkew(t *testing.T) {
	sent := start()
	for _, c := range []struct {
		took, hub time.Duration
		ahead     time.Duration
		warn      bool
	}{
		{2 * time.Second, time.Second, 0, false},
		{0, -4 * time.Minute, 4 * time.Minute, false},
		{0, -6 * time.Minute, 6 * time.Minute, true},
		{0, -5 * time.Minute, 5 * time.Minute, false},
		{0, -5*time.Minute - 1, 5*time.Minute + 1, true},
		{0, year, -year, true},
		{10 * time.Minute, -3 * time.Minute, 8 * time.Minute, false}, // this can be the network's delay
	} {
		ahead, warn := pki.Skew(sent, sent.Add(c.took), sent.Add(c.hub))
		if ahead != c.ahead || warn != c.warn {
			t.Errorf("%+v: %s, %v", c, ahead, warn)
		}
	}
}

// Sets with the same revocations are equal, for any order and number of additions.
func TestRevocationsMerge(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	keys := fleet.KeysOf(publicOf(key))
	rapid.Check(t, func(t *rapid.T) {
		facts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []byte {
			r := pki.Revocation{Fleet: "acme", At: rapid.Int64Range(1, 3).Draw(t, "at"),
				By: rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "by")}
			if rapid.Bool().Draw(t, "serial") {
				r.Serial = rapid.SampledFrom([]string{"1", "2f"}).Draw(t, "which")
			} else {
				r.Name = rapid.SampledFrom([]string{"fettle://acme/hub/h", "fettle://acme/person/ada@example.org"}).Draw(t, "whom")
			}
			e, err := r.Sign(key)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}), 0, 8).Draw(t, "facts")
		var one, other pki.Revocations
		add := func(s *pki.Revocations, all [][]byte) {
			for _, e := range all {
				if _, err := s.Add(e, keys); err != nil {
					t.Fatal(err)
				}
			}
		}
		add(&one, facts)
		add(&other, rapid.Permutation(facts).Draw(t, "order"))
		add(&other, one.Envelopes())
		if !slices.EqualFunc(one.Envelopes(), other.Envelopes(), bytes.Equal) {
			t.Fatal("the order of facts matters")
		}
		for _, f := range one.All() {
			n, _ := pki.ParseName(f.Name)
			if !other.Revoked(f.Serial, n) {
				t.Fatalf("%+v is not revoked", f)
			}
		}
	})
}

// A changed revocation, and a signed document of another type, are refused.
func TestForgedRevocations(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	keys := fleet.KeysOf(publicOf(key))
	fact := pki.Revocation{Serial: "2f", Fleet: "acme", At: 1, By: "ada"}
	envelope, err := fact.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	payload := base64.StdEncoding.EncodeToString(
		[]byte(`{"format":"fettle.revocation/1","serial":"30","fleet":"acme","at":1,"by":"ada"}`))
	_, rest, _ := strings.Cut(string(envelope), `","signatures"`)
	forged := []byte(`{"payloadType":"` + fleet.FactType + `","payload":"` + payload + `","signatures"` + rest)
	var s pki.Revocations
	if news, err := s.Add(forged, keys); !errors.Is(err, fleet.ErrUnsigned) || news {
		t.Errorf("news: %t, %v", news, err)
	}
	other, err := fleet.Sign([]byte(`{"format":"fettle.floor/1"}`), fleet.FactType, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(other, keys); err == nil {
		t.Error("another fact is taken for a revocation")
	}
	if s.Revoked("30", pki.Name{}) || len(s.Envelopes()) != 0 {
		t.Error("something is revoked")
	}
}

// An address is limited only by its own failures.
func TestLimit(t *testing.T) {
	var l pki.Limit
	bad, good := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	now := start()
	for range 20 {
		if !l.Allows(bad, now) {
			t.Fatal("too early")
		}
		l.Failed(bad, now)
	}
	if l.Allows(bad, now) || !l.Allows(good, now) || !l.Allows(bad, now.Add(3*time.Second)) {
		t.Error("the wrong ones may try")
	}
	six := netip.MustParseAddr("2001:db8::1")
	for range 20 {
		l.Failed(six, now)
	}
	if l.Allows(netip.MustParseAddr("2001:db8::ffff"), now) || !l.Allows(netip.MustParseAddr("2001:db8:0:1::1"), now) {
		t.Error("a network of IPv6 is not one address")
	}
	for i := range 20_001 {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		l.Failed(a, now)
	}
	if n := pki.LimitSize(&l); n > 10_000 {
		t.Errorf("%d addresses are remembered", n)
	}
}

func Example() {
	name, err := pki.ParseName("fettle://acme/person/ada@example.org")
	fmt.Println(name.Kind, name.ID, err)
	_, err = pki.ParseToken("fettle-abcdefgh-mistyped")
	fmt.Println(err)
	// Output:
	// person ada@example.org <nil>
	// cannot read this token: it is incomplete or mistyped. Copy all of it, from fettle- on. If it is lost, create another: fettle token create
}
