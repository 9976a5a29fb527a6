package keyring

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// ownKeys returns the keys of the first hub of a fleet.
func ownKeys(t *testing.T, now time.Time) *pki.Hub {
	t.Helper()
	files := mem.New(mem.Options{})
	root, err := pki.NewCA(files, "/hub/authority", "acme", now)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.OpenHub(files, "/hub/keys")
	if err != nil {
		t.Fatal(err)
	}
	request, err := keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := root.Certify(request, "hub1", []string{"192.0.2.1"}, now)
	if err == nil {
		err = keys.Install(certificates)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestSigningKeys: keys are verified once a minute, after Forget, and after an error.
func TestSigningKeys(t *testing.T) {
	now, reads, failure := time.Unix(1_795_000_000, 0), 0, error(nil)
	keys := ownKeys(t, now)
	k := New(Config{Fleet: "acme", Own: keys, Revoked: &pki.Revocations{}, Context: t.Context,
		Now: func() time.Time { return now },
		Certificates: func(context.Context) ([]*x509.Certificate, error) {
			reads++
			own, err := keys.Signer()
			return []*x509.Certificate{own}, errors.Join(err, failure)
		}})
	for _, c := range []struct {
		text  string
		do    func()
		reads int
	}{
		{"the first use", func() {}, 1},
		{"at once", func() {}, 1},
		{"within a minute", func() { now = now.Add(validFor - 1) }, 1},
		{"after a minute", func() { now = now.Add(1) }, 2},
		{"after Forget", k.Forget, 3},
		{"the clock was set back", func() { now = now.Add(-time.Second) }, 4},
	} {
		c.do()
		if got, err := k.SigningKeys(); err != nil || len(got) != 1 || reads != c.reads {
			t.Errorf("%s: %d keys, %d reads, want %d, %v", c.text, len(got), reads, c.reads, err)
		}
	}
	k.Forget()
	failure = errors.New("the list of hubs is not readable")
	if got, err := k.SigningKeys(); !errors.Is(err, failure) || got != nil {
		t.Errorf("after a failure: %v, %v", got, err)
	}
	failure = nil
	if got, err := k.SigningKeys(); err != nil || len(got) != 1 {
		t.Errorf("after the failure: %v, %v", got, err)
	}
}
