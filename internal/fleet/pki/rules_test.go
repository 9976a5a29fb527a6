package pki

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
)

// shelf is a store without concurrency.
type shelf map[string]fleet.Entry

func (s shelf) Get(_ context.Context, key string) (fleet.Entry, error) {
	if e, ok := s[key]; ok {
		return e, nil
	}
	return fleet.Entry{}, fleet.ErrNotFound
}

func (s shelf) Put(_ context.Context, key string, value []byte) (uint64, error) {
	s[key] = fleet.Entry{Key: key, Value: value, Rev: s[key].Rev + 1}
	return s[key].Rev, nil
}

func (s shelf) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if s[key].Rev != rev {
		return 0, fleet.ErrConflict
	}
	return s.Put(ctx, key, value)
}

func (s shelf) Delete(_ context.Context, key string, _ uint64) error { delete(s, key); return nil }

func (s shelf) All(context.Context) ([]fleet.Entry, error) { return nil, nil }

func (s shelf) Watch(context.Context, func(fleet.Entry), func()) error { return nil }

var rulesNow = time.Unix(1_800_000_000, 0)

// newRegistrar is a registrar with its fleet CA and a hub.
func newRegistrar(t *testing.T) (*Registrar, *CA) {
	t.Helper()
	files := mem.NewFS(mem.Options{})
	a, err := NewCA(files, "/a", "acme", rulesNow)
	if err != nil {
		t.Fatal(err)
	}
	h, err := OpenHub(files, "/h")
	if err != nil {
		t.Fatal(err)
	}
	request, err := h.Request()
	if err != nil {
		t.Fatal(err)
	}
	certs, err := a.Certify(request, "hub1", nil, rulesNow)
	if err == nil {
		err = h.Install(certs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Registrar{Hub: h, Revocations: &Revocations{}, Tokens: shelf{}, Targets: shelf{}, RevocationStore: shelf{},
		Names: shelf{}, Now: func() time.Time { return rulesNow }}, a
}

// TestWhatCannotBeNotedIsNotDone: each change is refused if it cannot be recorded in the audit log,
// and nothing of it is stored.
func TestWhatCannotBeNotedIsNotDone(t *testing.T) {
	r, _ := newRegistrar(t)
	id := fleet.TargetID(strings.Repeat("a", 26))
	target := fleet.Target{ID: id, Name: "web1", Standing: fleet.Active}
	b, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Targets.Put(t.Context(), string(id), b); err != nil {
		t.Fatal(err)
	}
	terms := Terms{Uses: 1, Expires: rulesNow.Unix() + 5}
	kept, err := r.CreateToken(t.Context(), terms, "ada")
	if err != nil {
		t.Fatal(err)
	}
	state := func() string { return fmt.Sprint(r.Tokens, r.Targets, r.RevocationStore, r.Names, r.Revocations.All()) }
	before, no := state(), errors.New("no log")
	var noted []AuditRecord
	r.Audit = func(_ context.Context, n AuditRecord) error { noted = append(noted, n); return no }
	for what, work := range map[string]func() error{
		"a token":       func() error { _, err := r.CreateToken(t.Context(), terms, "ada"); return err },
		"a withdrawal":  func() error { return r.WithdrawToken(t.Context(), kept.ID, "ada") },
		"a standing":    func() error { _, err := r.SetStanding(t.Context(), id, fleet.Retired, "ada", "old"); return err },
		"another hub":   func() error { return r.Withdraw(t.Context(), "hub2", nil, "ada", "lost") },
		"no such token": func() error { return r.WithdrawToken(t.Context(), "none", "ada") },
		"no target":     func() error { _, err := r.SetStanding(t.Context(), "y", fleet.Retired, "ada", ""); return err },
	} {
		noted = nil
		err := work()
		exists := !strings.HasPrefix(what, "no ")
		if errors.Is(err, no) != exists || errors.Is(err, fleet.ErrNotFound) == exists || len(noted) == 1 != exists ||
			exists && noted[0].By != "ada" || state() != before {
			t.Errorf("%s: %v, %+v", what, err, noted)
		}
	}
	noted = nil
	if got, err := r.SetStanding(t.Context(), id, fleet.Active, "ada", ""); err != nil || got.Name != "web1" ||
		len(noted) > 0 {
		t.Errorf("the same standing: %+v, %v, %v", got, err, noted)
	}
	r.Audit = nil
	if err := r.WithdrawToken(t.Context(), kept.ID, "ada"); err != nil ||
		r.WithdrawToken(t.Context(), kept.ID, "ada") != nil {
		t.Error(err)
	}
	if _, err := r.token(t.Context(), "none"); !isUnknown(err) {
		t.Errorf("%v", err)
	}
	if got, err := r.SetStanding(t.Context(), id, fleet.Retired, "ada",
		"old"); err != nil || got.Standing != fleet.Retired || got.By != "ada" || len(r.Revocations.All()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.SetStanding(t.Context(), id, fleet.Active, "ada", ""); err == nil || got.Standing != fleet.Retired {
		t.Errorf("a retired target comes back: %+v", got)
	}
}

// TestNamesAreFree: a name is free if its holder is gone, or was not stored within a minute.
func TestNamesAreFree(t *testing.T) {
	for name, c := range map[string]struct {
		target *fleet.Target
		after  time.Duration
		free   bool
	}{
		"just reserved":     {nil, 0, false},
		"a minute less":     {nil, time.Minute - 1, false},
		"a minute":          {nil, time.Minute, true},
		"active":            {&fleet.Target{Name: "web1", Standing: fleet.Active}, time.Hour, false},
		"pending":           {&fleet.Target{Name: "web1", Standing: fleet.Pending}, time.Hour, false},
		"retired":           {&fleet.Target{Name: "web1", Standing: fleet.Retired}, 0, true},
		"revoked":           {&fleet.Target{Name: "web1", Standing: fleet.Revoked}, 0, true},
		"under another one": {&fleet.Target{Name: "web2", Standing: fleet.Active}, 0, true},
	} {
		r, _ := newRegistrar(t)
		if c.target != nil {
			if err := store(t.Context(), r.Targets, "x", *c.target, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.reserve(t.Context(), "web1", "x", rulesNow); err != nil {
			t.Fatal(err)
		}
		err := r.reserve(t.Context(), "web1", "y", rulesNow.Add(c.after))
		refusal, is := errors.AsType[*Refusal](err)
		if (err == nil) != c.free || is != (err != nil) || is && refusal.Status != conflict {
			t.Errorf("%s: %v", name, err)
		}
		if c.free && r.reserve(t.Context(), "web1", "y", rulesNow) != nil {
			t.Errorf("%s: the new holder has it not", name)
		}
	}
}

// TestAddressOfAToken: a token for networks also matches an IPv4 address in IPv6 form.
func TestAddressOfAToken(t *testing.T) {
	s := StoredToken{Terms: Terms{Networks: []string{"192.0.2.9/24"}}}
	for from, good := range map[string]bool{"192.0.2.1": true, "::ffff:192.0.2.1": true, "192.0.3.1": false,
		"2001:db8::1": false} {
		if err := s.scope(asking{address: netip.MustParseAddr(from)}); (err == nil) != good {
			t.Errorf("%s: %v", from, err)
		}
	}
}
