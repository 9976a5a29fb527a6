package pki

import (
	"crypto/x509"
	"encoding/binary"
	"testing"
	"time"
)

// Expired certificates are removed from a large cache: each target presents a new one every day.
func TestPathsAreTidied(t *testing.T) {
	var p Paths
	n := 0
	show := func(at time.Time) {
		n++
		leaf := &x509.Certificate{Raw: binary.BigEndian.AppendUint64(nil, uint64(n))}
		if _, err := p.find([]*x509.Certificate{leaf}, TargetKind, at,
			func([]*x509.Certificate, Kind, time.Time) (way, error) {
				return way{from: at, until: at.Add(24 * time.Hour)}, nil
			}); err != nil {
			t.Fatal(err)
		}
	}
	const targets = 2 * minPaths
	for day := range 10 {
		for range targets {
			show(time.Unix(0, 0).AddDate(0, 0, 2*day))
		}
		if len(p.all) < targets || len(p.all) > 3*targets+minPaths {
			t.Fatalf("after %d days with %d targets there are %d", 2*day, targets, len(p.all))
		}
	}
}
