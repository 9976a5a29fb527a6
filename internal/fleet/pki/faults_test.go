package pki_test

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

var errFault = errors.New("input/output error")

// faults makes the n-th operation fail, from 1.
type faults struct{ n, seen int }

func (f *faults) next(string, string) error {
	if f.seen++; f.seen == f.n {
		return errFault
	}
	return nil
}

// faulty is a disk whose n-th operation fails, reading included.
type faulty struct {
	host.FS
	faults *faults
}

func (f faulty) Open(path string) (host.File, error) {
	if err := f.faults.next("open", path); err != nil {
		return nil, err
	}
	return f.FS.Open(path)
}

// atEachFault runs work with a failure of its first operation, then of its second, and so on. The
// error must contain each failure.
func atEachFault(t *testing.T, what string, work func(f *faults) error) {
	t.Helper()
	for n := 1; ; n++ {
		f := &faults{n: n}
		err := work(f)
		if f.seen < n {
			if err != nil || n == 1 {
				t.Errorf("%s: %d operations, without a failure: %v", what, n-1, err)
			}
			return
		}
		if !errors.Is(err, errFault) {
			t.Errorf("%s: operation %d failed, and the error is %v", what, n, err)
		}
	}
}

// onDisk is a client whose disk has the faults.
func (s *site) onDisk(files *mem.FS, f *faults) pki.Client {
	return pki.Client{Directory: pki.Directory{FS: faulty{files.Counted(f.next), f}, Dir: "/identity"}, Now: s.clock.now}
}

// TestDiskFaults: a failure of a disk is never reported as a success.
func TestDiskFaults(t *testing.T) {
	s := newSite(t, "acme")
	disk := func(f *faults, files *mem.FS) host.FS { return faulty{files.Counted(f.next), f} }
	authority, hub, identity := mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{})
	a, err := pki.NewCA(authority, "/a", "acme", start())
	if err != nil {
		t.Fatal(err)
	}
	h, err := pki.OpenHub(hub, "/h")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs, err := a.Certify(request, "hub1", nil, start())
	if err == nil {
		err = h.Install(certs)
	}
	if err != nil {
		t.Fatal(err)
	}
	i := s.enrolled(s.onDisk(identity, &faults{}), "web1")
	if _, err := s.onDisk(identity, &faults{}).Renew(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	signers := pki.EncodeCertificates(signerOf(t, s.hub))
	for what, work := range map[string]func(f *faults) error{
		"a new authority": func(f *faults) error {
			_, err := pki.NewCA(disk(f, mem.NewFS(mem.Options{})), "/a", "acme", start())
			return err
		},
		"an authority": func(f *faults) error { _, err := pki.OpenCA(disk(f, authority), "/a"); return err },
		"a new hub":    func(f *faults) error { _, err := pki.OpenHub(disk(f, mem.NewFS(mem.Options{})), "/h"); return err },
		"a hub": func(f *faults) error {
			h, err := pki.OpenHub(disk(f, hub), "/h")
			if err != nil {
				return err
			}
			return h.Install(certs)
		},
		"enrolling": func(f *faults) error {
			_, err := s.onDisk(mem.NewFS(mem.Options{}), f).Enrol(t.Context(), s.url, s.token(nil), "web"+tokenName())
			return err
		},
		"renewing": func(f *faults) error {
			s.clock.forward(10 * time.Minute)
			_, err := s.onDisk(identity, f).Renew(t.Context(), nil)
			return err
		},
		"learning": func(f *faults) error {
			_, err := s.onDisk(mem.NewFS(mem.Options{}), f).Directory.UpdateHubs(i, []string{"https://other"},
				[]string{"tls://other"}, signers)
			return err
		},
		"what is known": func(f *faults) error {
			directory := s.onDisk(identity, f).Directory
			k, err := directory.LoadKnown()
			if err != nil {
				return err
			}
			return directory.SaveKnown(k)
		},
	} {
		atEachFault(t, what, work)
	}
}

// TestStoreFaults: a hub that cannot read or write its store returns an error, and succeeds later.
func TestStoreFaults(t *testing.T) {
	s := newSite(t, "acme")
	second := s.beside("hub2")
	from := loopback()
	// each runs a new operation for each fault, and repeats it without a fault.
	each := func(what string, begin func() func() error) {
		t.Helper()
		atEachFault(t, what, func(f *faults) error {
			work := begin()
			for _, m := range []*memory{s.tokens, s.targets, s.facts, s.names} {
				m.fail = f.next
			}
			err := work()
			for _, m := range []*memory{s.tokens, s.targets, s.facts, s.names} {
				m.fail = nil
			}
			if refusal, theirs := errors.AsType[*pki.Refusal](err); theirs {
				t.Errorf("%s: a failure of the store is told as %d %s", what, refusal.Status, refusal.Text)
			}
			if err != nil {
				if err := work(); err != nil {
					t.Errorf("%s, again after %v: %v", what, f.n, err)
				}
			}
			return err
		})
	}
	each("enrolling", func() func() error {
		e := pki.EnrolmentFor(t, s.token(nil), "web"+tokenName())
		return func() error { _, err := s.registrar.Enrol(t.Context(), e, from); return err }
	})
	each("retiring", func() func() error {
		id := s.enrolled(s.host(), "web"+tokenName()).ID
		return func() error {
			_, err := s.registrar.SetStanding(t.Context(), id, fleet.Retired, "ada", "old")
			return err
		}
	})
	each("a token", func() func() error {
		terms := pki.Terms{Uses: 1, Expires: start().Add(time.Hour).Unix()}
		return func() error { _, err := s.registrar.CreateToken(t.Context(), terms, "ada"); return err }
	})
	each("withdrawing a token", func() func() error {
		token := s.token(nil)
		return func() error { return s.registrar.WithdrawToken(t.Context(), token.ID, "ada") }
	})
	s.registrar.Grace = time.Hour
	each("renewing after a long absence", func() func() error {
		chain := s.enrolled(s.host(), "web"+tokenName()).Chain()
		s.clock.forward(pki.TargetLife + 2*time.Hour)
		return func() error {
			a, err := s.registrar.Renew(t.Context(), &tls.ConnectionState{PeerCertificates: chain})
			if err == nil && a.Pending == "" {
				t.Error("a target that was away for long is active")
			}
			return err
		}
	})
	s.registrar.Grace = 0
	each("rebuilding", func() func() error {
		i := s.enrolled(s.host(), "web"+tokenName())
		if err := errors.Join(s.targets.Delete(t.Context(), string(i.ID), 0),
			s.names.Delete(t.Context(), "name/"+i.Name, 0)); err != nil {
			t.Fatal(err)
		}
		trust := trustOf(t, s.hub, nil)
		p, err := trust.Verify(i.Chain(), s.clock.now(), pki.TargetKind)
		if err != nil {
			t.Fatal(err)
		}
		return func() error { _, err := s.registrar.Rebuild(t.Context(), p); return err }
	})
	each("a hub", func() func() error {
		id := "hub" + tokenName()
		_, err := second.registrar.SetStanding(t.Context(), s.enrolled(s.host(), "web"+tokenName()).ID, fleet.Revoked,
			"eve", "none")
		if err != nil {
			t.Fatal(err)
		}
		return func() error { return s.registrar.Withdraw(t.Context(), id, signerOf(t, second.hub), "ada", "lost") }
	})
}
