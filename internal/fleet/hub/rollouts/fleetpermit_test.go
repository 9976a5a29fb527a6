package rollouts

import (
	"crypto/ed25519"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	permits "fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// permit returns a signed permit for the commit c8 on some targets, for an hour.
func (b *back) permit(targets ...string) string {
	t := b.desk.t
	t.Helper()
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := permits.ReadSigningKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := permits.Permit{Repository: "site", Commit: c8, Targets: targets,
		Expires: b.now.Add(time.Hour).Unix()}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// rollWith orders a rollback with a permit.
func (b *back) rollWith(to, permit string) (string, error) {
	d, err := b.rollbacks().RollBackFleet(b.desk.t.Context(), named("ann"),
		document.FleetRollbackRequest{Part: "modules/web", To: to, Permit: permit})
	return d.Text, err
}

// TestRollbackWithPermit: the permit must fit the commit and an active target.
func TestRollbackWithPermit(t *testing.T) {
	b := newBack(t)
	for id, v := range map[string]fleet.Target{
		"t1": {Name: "web1", Standing: fleet.Active}, "t2": {Name: "web2", Standing: fleet.Retired},
		"t3": {Name: "db1", Standing: fleet.Active, Labels: map[string]string{"role": "db"}},
	} {
		put(t, b.table.Targets, id, v)
	}
	for name, c := range map[string]struct {
		permit, to string
		later      time.Duration
		why        string // "" means that the order is accepted
	}{
		"no permit":          {"", c8, 0, ""},
		"by name":            {b.permit("web1"), c8, 0, ""},
		"of another target":  {b.permit("db*", "x"), c8, 0, ""},
		"by label":           {b.permit("label:role=db"), c8, 0, ""},
		"retired":            {b.permit("web2"), c8, 0, "not for this target"},
		"no target":          {b.permit("x"), c8, 0, "not for this target"},
		"another commit":     {b.permit("web1"), strings.Repeat("7", 40), 0, "for the commit"},
		"stable":             {b.permit("web1"), "stable", 0, "stable content can be of several commits"},
		"expired":            {b.permit("web1"), c8, time.Hour, "Sign a new one"},
		"without signature":  {`{"format":"fettle.permit/1"}`, c8, 0, "it is not signed"},
		"unsigned to stable": {`{"format":"fettle.permit/1"}`, "stable", 0, "it is not signed"},
	} {
		b.now = b.now.Add(c.later)
		_, err := b.rollWith(c.to, c.permit)
		b.now = b.now.Add(-c.later)
		if c.why == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.why != "" {
			wantRefused(t, err, api.BadRequest, c.why, "fettle fleet rollback MODULE --to COMMIT --permit")
		}
	}
}

// TestRollbackRepeatedWithPermit: a new permit replaces the stored one, and an order without one keeps it.
func TestRollbackRepeatedWithPermit(t *testing.T) {
	b := newBack(t)
	put(t, b.table.Targets, "t1", fleet.Target{Name: "web1", Standing: fleet.Active})
	first, second := b.permit("web1"), b.permit("web*")
	for i, c := range []struct{ permit, answer, stored string }{
		{first, "Held", first}, {first, nothing, first}, {"", nothing, first}, {second, "Held", second},
	} {
		got, err := b.rollWith(c8, c.permit)
		stored, _, _ := b.table.Replacements.Get(records.RefKey("modules/web"))
		if err != nil || !strings.HasPrefix(got, c.answer) || stored.Permit != c.stored {
			t.Errorf("order %d: %q, %v; the stored permit is the first one: %t", i, got, err, stored.Permit == first)
		}
	}
}
