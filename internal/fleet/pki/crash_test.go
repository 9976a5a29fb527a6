package pki_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

var errPower = errors.New("the power is gone")

// atEachOp runs work with a power failure at its first operation, its second, and so on, until it
// completes. look checks the disk after each failure, for several random outcomes.
func atEachOp(t *testing.T, before *mem.FS, work func(files host.FS) error, look func(n, dice int, left *mem.FS)) {
	t.Helper()
	for n := 1; ; n++ {
		disk := before.CrashClone(rand.New(rand.NewPCG(0, 0)))
		ops := 0
		err := work(disk.Counted(func(string, string) error {
			if ops++; ops >= n {
				return errPower
			}
			return nil
		}))
		for dice := range 3 {
			look(n, dice, disk.CrashClone(rand.New(rand.NewPCG(uint64(n), uint64(dice)))))
		}
		if err == nil && ops < n {
			if n < 4 {
				t.Fatalf("there were only %d operations: nothing was tried", n-1)
			}
			return
		}
		if n > 300 {
			t.Fatal("it does not come to an end")
		}
	}
}

// A renewal that is interrupted at any point leaves a working key and certificate.
func TestRenewalIsNeverWithoutAPair(t *testing.T) {
	s := newSite(t, "acme")
	files := mem.NewFS(mem.Options{})
	dir := "/var/lib/fettle/identity"
	client := func(fs host.FS) pki.Client {
		return pki.Client{Directory: pki.Directory{FS: fs, Dir: dir}, Now: s.clock.now}
	}
	old, err := client(files).Enrol(t.Context(), s.url, s.token(nil), "web1")
	if err != nil {
		t.Fatal(err)
	}
	renewed := 0
	atEachOp(t, files, func(fs host.FS) error {
		_, err := client(fs).Renew(t.Context(), nil)
		return err
	}, func(n, _ int, left *mem.FS) {
		s.clock.forward(10 * time.Minute) // a hub limits the number of renewals
		i, err := client(left).Directory.Load()
		if err != nil || i.ID != old.ID {
			t.Fatalf("after a power cut at operation %d: %v", n, err)
		}
		if !i.Certificate().Equal(old.Certificate()) {
			renewed++
		}
		if _, err := client(left).Renew(t.Context(), nil); err != nil {
			t.Fatalf("renewing after a power cut at operation %d: %v", n, err)
		}
	})
	if renewed == 0 {
		t.Error("no power cut left a new certificate")
	}
}

// An enrolment that is interrupted at any point continues with the same token and creates one
// target.
func TestEnrolmentGoesOnAfterACrash(t *testing.T) {
	s := newSite(t, "acme")
	var token pki.Token
	client := func(fs host.FS) pki.Client {
		return pki.Client{Directory: pki.Directory{FS: fs, Dir: "/identity"}, Now: s.clock.now}
	}
	name := ""
	atEachOp(t, mem.NewFS(mem.Options{}), func(fs host.FS) error {
		// Each attempt is a different host.
		token, name = s.token(nil), "web"+tokenName()
		_, err := client(fs).Enrol(t.Context(), s.url, token, name)
		return err
	}, func(n, dice int, left *mem.FS) {
		if dice != n%3 {
			return // one token is one host, and a host has one disk
		}
		c := client(left)
		c.Reenrol = true // the crash may have happened after the end
		i, err := c.Enrol(t.Context(), s.url, token, name)
		if refusal, ok := errors.AsType[*pki.Refusal](err); ok && refusal.Status == 403 {
			// The key was lost before it was durable, or the identity was complete: in both cases
			// this host has used the token.
			if _, err := c.Directory.Load(); err != nil {
				t.Fatalf("operation %d: the token is spent, and there is no identity: %v", n, err)
			}
			return
		}
		if err != nil || i.Name != name {
			t.Fatalf("operation %d: %v", n, err)
		}
	})
}

// The creation of a fleet CA and a hub can be repeated after an interruption at any point.
func TestAuthorityAfterACrash(t *testing.T) {
	work := func(files host.FS) error {
		a, err := pki.OpenCA(files, "/hub/authority")
		if err != nil {
			if a, err = pki.NewCA(files, "/hub/authority", "acme", start()); err != nil {
				return err
			}
		}
		h, err := pki.OpenHub(files, "/hub/keys")
		if err != nil {
			return err
		}
		request, err := h.Request()
		if err != nil {
			return err
		}
		certs, err := a.Certify(request, "hub1", nil, start())
		if err != nil {
			return err
		}
		return h.Install(certs)
	}
	atEachOp(t, mem.NewFS(mem.Options{}), work, func(n, _ int, left *mem.FS) {
		if err := work(left); err != nil {
			t.Fatalf("after a power cut at operation %d: %v", n, err)
		}
		h, err := pki.OpenHub(left, "/hub/keys")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.TLS(); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
	})
}
