package hub

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// TestCertificatesOfAHub: they are renewed in the last third of their year, under the
// same keys and names, and where the authority is off-line somebody is told.
func TestCertificatesOfAHub(t *testing.T) {
	born := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now, files, settings := born, mem.New(mem.Options{}), bustest.NewStore()
	_, err := Init(Birth{Files: files, Dir: "/hub", Hosts: []string{"hub.example.org", "192.0.2.1"}, Now: born,
		Settings: Settings{Fleet: "acme", Name: "hub1", API: "127.0.0.1:0", Bus: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.OpenHub(files, "/hub/keys")
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(t.Context(), Config{Files: files, Dir: "/hub", Now: func() time.Time { return now }}, edge{})
	h.keys, h.set, h.stores = keys, Settings{Name: "hub1"}, map[string]fleet.Store{"settings": settings}
	h.sources = newMirror[Repository](settings, "repository/", nil)
	ends := func() time.Time {
		c, err := keys.Certificate()
		if err != nil || len(c.DNSNames) != 1 || len(c.IPAddresses) != 1 {
			t.Fatalf("%v, %v", c, err)
		}
		return c.NotAfter
	}
	first := ends()
	now = born.Add(200 * 24 * time.Hour)
	if err := h.vouch(t.Context()); err != nil || !ends().Equal(first) {
		t.Fatalf("%v: renewed after 200 days: %s", err, ends())
	}
	now = born.Add(250 * 24 * time.Hour)
	if err := h.vouch(t.Context()); err != nil || !ends().After(first.Add(200*24*time.Hour)) {
		t.Fatalf("%v: not renewed after 250 days: %s", err, ends())
	}
	if e, err := settings.Get(t.Context(), "signer/hub1"); err != nil || len(e.Value) == 0 {
		t.Errorf("the others do not know the new certificate: %v", err)
	}
	now = ends().Add(-24 * time.Hour)
	if err := files.Remove("/hub/authority/authority.key"); err != nil {
		t.Fatal(err)
	}
	if err := h.vouch(t.Context()); err == nil || !strings.Contains(err.Error(), "the authority's key is not in /hub/authority") {
		t.Errorf("without the authority: %v", err)
	}
}
