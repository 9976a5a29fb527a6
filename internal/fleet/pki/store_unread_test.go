package pki

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
)

var errShelf = errors.New("the store does not answer")

// locked is a store that cannot be read.
type locked struct{ shelf }

func (locked) Get(context.Context, string) (fleet.Entry, error) { return fleet.Entry{}, errShelf }

// TestStoreThatCannotBeRead: an unknown state is an error of the store. It never means that an
// entry is missing, and it is not a refusal.
func TestStoreThatCannotBeRead(t *testing.T) {
	r, _ := newRegistrar(t)
	r.Tokens, r.Targets = locked{}, locked{}
	for what, err := range map[string]error{
		"a standing":   func() error { _, err := r.SetStanding(t.Context(), "x", fleet.Retired, "ada", ""); return err }(),
		"a withdrawal": r.WithdrawToken(t.Context(), "x", "ada"),
		"a token":      func() error { _, err := r.token(t.Context(), "x"); return err }(),
		"a name":       r.free(t.Context(), "web1", holder{"x", 0}, rulesNow),
	} {
		if _, refused := errors.AsType[*Refusal](err); !errors.Is(err, errShelf) || errors.Is(err, fleet.ErrNotFound) ||
			refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNoCertificateForABadEntry: a target whose entry has no valid name gets no certificate, and no
// serial is recorded.
func TestNoCertificateForABadEntry(t *testing.T) {
	r, a := newRegistrar(t)
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	id, err := TargetIDOf(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"web1": true, "": false, "a b": false} {
		target := fleet.Target{ID: id, Name: name, Standing: fleet.Active}
		r.Targets = shelf{}
		if err := store(t.Context(), r.Targets, string(id), target, 0); err != nil {
			t.Fatal(err)
		}
		answer, err := r.answer(t.Context(), entry[fleet.Target]{target, 1}, key.Public(), AuditRecord{})
		kept, lerr := load[fleet.Target](t.Context(), r.Targets, string(id))
		if (err == nil) != good || lerr != nil || len(kept.value.Serials) == 1 != good ||
			(answer.Certificates == "") == good {
			t.Errorf("%q: %+v, %v, %v", name, kept.value, err, lerr)
		}
		if !good {
			continue
		}
		other, err := newP256()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := identityOf(answer, key); err != nil {
			t.Error(err)
		}
		if _, err := identityOf(answer, other); err == nil {
			t.Error("an identity of another key is taken")
		}
	}
	if c, err := a.sign(issuerTemplate("acme"), Name{"acme", HubKind, "A"}, key.Public(), rulesNow); err == nil ||
		c != nil {
		t.Error("a certificate for no name is made")
	}
}

// TestCAWithoutACertificate: a key alone is not a fleet CA, and a caller can distinguish a missing
// file.
func TestCAWithoutACertificate(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	if _, err := NewCA(files, "/a", "acme", rulesNow); err != nil {
		t.Fatal(err)
	}
	if err := files.Remove("/a/" + authorityFile); err != nil {
		t.Fatal(err)
	}
	if a, err := OpenCA(files, "/a"); !errors.Is(err, fs.ErrNotExist) || a != nil {
		t.Errorf("%v", err)
	}
}

// TestAllAddressesAreGuilty: if all addresses have failures, all are forgotten.
func TestAllAddressesAreGuilty(t *testing.T) {
	full := buckets{}
	for i := range 10_000 {
		full.take(fmt.Sprint(i), time.Hour, rulesNow)
	}
	if full.take("one more", time.Hour, rulesNow); len(full) != 1 {
		t.Errorf("%d addresses", len(full))
	}
}
