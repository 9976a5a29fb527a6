package hub

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// TestCertificatesOfAHub: certificates are renewed in the last third of their year, with the same
// keys and names. If the key of the fleet CA is off-line, the hub warns.
func TestCertificatesOfAHub(t *testing.T) {
	born := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now, files, settings := born, mem.New(mem.Options{}), bustest.NewStore()
	_, err := Init(InitOptions{Files: files, Dir: "/hub", Hosts: []string{"hub.example.org", "192.0.2.1"}, Now: born,
		Settings: Settings{Fleet: "acme", Name: "hub1", API: "127.0.0.1:0", Bus: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.OpenHub(files, "/hub/keys")
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(t.Context(), Config{Files: files, Dir: "/hub", Now: func() time.Time { return now }}, dependencies{})
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
	if err := h.certifyHub(t.Context()); err != nil || !ends().Equal(first) {
		t.Fatalf("%v: renewed after 200 days: %s", err, ends())
	}
	now = born.Add(250 * 24 * time.Hour)
	if err := h.certifyHub(t.Context()); err != nil || !ends().After(first.Add(200*24*time.Hour)) {
		t.Fatalf("%v: not renewed after 250 days: %s", err, ends())
	}
	if e, err := settings.Get(t.Context(), "signer/hub1"); err != nil || len(e.Value) == 0 {
		t.Errorf("the others do not know the new certificate: %v", err)
	}
	now = ends().Add(-24 * time.Hour)
	if err := files.Remove("/hub/authority/authority.key"); err != nil {
		t.Fatal(err)
	}
	if err := h.certifyHub(t.Context()); err == nil || !strings.Contains(err.Error(), "the key of the fleet CA is not in /hub/authority") {
		t.Errorf("without the authority: %v", err)
	}
}

// TestHubCertifiesAnotherHub: the hub with the key of the fleet CA renews the certificates of a hub
// without it, with the same keys and names, and only for hubs.
func TestHubCertifiesAnotherHub(t *testing.T) {
	born := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now, files := born, mem.New(mem.Options{})
	if _, err := Init(InitOptions{Files: files, Dir: "/hub1", Hosts: []string{"192.0.2.1"}, Now: born,
		Settings: Settings{Fleet: "acme", Name: "hub1", API: "127.0.0.1:0", Bus: "127.0.0.1:0"}}); err != nil {
		t.Fatal(err)
	}
	root, err := pki.OpenCA(files, "/hub1/authority")
	if err != nil {
		t.Fatal(err)
	}
	settings := bustest.NewStore()
	at := func(name string) *Hub {
		h := newHub(t.Context(), Config{Files: files, Dir: "/" + name, Now: func() time.Time { return now }}, dependencies{})
		if h.keys, err = pki.OpenHub(files, "/"+name+"/keys"); err != nil {
			t.Fatal(err)
		}
		h.set, h.stores = Settings{Name: name, Fleet: "acme"}, map[string]fleet.Store{"settings": settings}
		h.revoked, h.peers = &pki.Revocations{}, &peerCache{Members: []Member{{Name: "hub1"}, {Name: "hub2"}}}
		h.sources, h.members = newMirror[Repository](settings, "repository/", nil), newMirror[Member](settings, "member/", nil)
		h.log = bustest.NewLog()
		return h
	}
	first := at("hub1")
	second := map[string]*Hub{}
	for _, name := range []string{"hub2", "stranger"} {
		h := at(name)
		jobID, err := h.keys.Request()
		if err != nil {
			t.Fatal(err)
		}
		certificates, err := root.Certify(jobID, name, []string{"192.0.2.2"}, born)
		if err == nil {
			err = h.keys.Install(certificates)
		}
		if err != nil {
			t.Fatal(err)
		}
		second[name] = h
	}
	trust, err := first.keys.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(first.serveCertify))
	server.Listener = tls.NewListener(server.Listener, trust.ServerTLS(first.keys.TLS, first.now))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	url := "https://" + server.Listener.Addr().String()
	now = born.Add(250 * 24 * time.Hour)
	if err := first.certifyHub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, h := range second {
		h.members.all["hub1"] = kept[Member]{value: Member{Name: "hub1", HubURLs: []string{url}, Authority: true}}
		before, err := h.keys.Certificate()
		if err != nil {
			t.Fatal(err)
		}
		err = h.certifyHub(t.Context())
		after, _ := h.keys.Certificate()
		if name == "hub2" && (err != nil || !after.NotAfter.After(before.NotAfter) || len(after.IPAddresses) != 1 || after.URIs[0].String() != before.URIs[0].String()) {
			t.Errorf("%s: %v, until %s", name, err, after.NotAfter)
		}
		if name != "hub2" && (err == nil || !strings.Contains(err.Error(), "for hubs of this fleet")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A hub cannot get a certificate with another key.
	other, err := pki.OpenHub(files, "/other/keys")
	if err != nil {
		t.Fatal(err)
	}
	jobID, err := other.Request()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second["hub2"].requestCertification(t.Context(), certifyPath, jobID); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("another key: %v", err)
	}
}
