package certificates

import (
	"context"
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
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// TestCertificatesOfAHub: certificates are renewed in the last third of their year, with the same
// keys and names. If the key of the fleet CA is off-line, the hub warns.
func TestCertificatesOfAHub(t *testing.T) {
	born := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now, files := born, mem.New(mem.Options{})
	keys, _ := newCA(t, files, "/hub", []string{"hub.example.org", "192.0.2.1"}, born)
	introduced := 0
	i := New(Config{Hub: "hub1", Alone: true, Files: files, Dir: "/hub", Now: func() time.Time { return now }, Keys: keys,
		Introduce: func(context.Context) error { introduced++; return nil }})
	ends := func() time.Time {
		c, err := keys.Certificate()
		if err != nil || len(c.DNSNames) != 1 || len(c.IPAddresses) != 1 {
			t.Fatalf("%v, %v", c, err)
		}
		return c.NotAfter
	}
	first := ends()
	now = born.Add(200 * 24 * time.Hour)
	if err := i.certifyHub(t.Context()); err != nil || !ends().Equal(first) {
		t.Fatalf("%v: renewed after 200 days: %s", err, ends())
	}
	now = born.Add(250 * 24 * time.Hour)
	if err := i.certifyHub(t.Context()); err != nil || !ends().After(first.Add(200*24*time.Hour)) {
		t.Fatalf("%v: not renewed after 250 days: %s", err, ends())
	}
	if introduced != 1 {
		t.Errorf("the other hubs got the new certificate %d times", introduced)
	}
	now = ends().Add(-24 * time.Hour)
	if err := files.Remove("/hub/authority/authority.key"); err != nil {
		t.Fatal(err)
	}
	if err := i.certifyHub(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the key of the fleet CA is not in /hub/authority") {
		t.Errorf("without the authority: %v", err)
	}
}

// TestHubCertifiesAnotherHub: the hub with the key of the fleet CA renews the certificates of a hub
// without it, with the same keys and names, and only for hubs.
func TestHubCertifiesAnotherHub(t *testing.T) {
	born := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now, files := born, mem.New(mem.Options{})
	_, root := newCA(t, files, "/hub1", []string{"192.0.2.1"}, born)
	at := func(name string) *Issuer {
		keys, err := pki.OpenHub(files, "/"+name+"/keys")
		if err != nil {
			t.Fatal(err)
		}
		i := New(Config{Hub: name, Files: files, Dir: "/" + name, Now: func() time.Time { return now }, Keys: keys,
			Records: &records.Table{}, Revoked: &pki.Revocations{},
			IsMember:  func(name string) bool { return name == "hub1" || name == "hub2" },
			Introduce: func(context.Context) error { return nil },
			Events: events.Recorder{Hub: name, Log: bustest.NewLog(), Now: time.Now,
				Warn: func(text string) { t.Error(text) }}})
		i.Records.Members = records.NewMirror[records.Member](bustest.NewStore(), records.MemberPrefix, nil)
		return i
	}
	first := at("hub1")
	second := map[string]*Issuer{}
	for _, name := range []string{"hub2", "stranger"} {
		i := at(name)
		jobID, err := i.Keys.Request()
		if err != nil {
			t.Fatal(err)
		}
		certificates, err := root.Certify(jobID, name, []string{"192.0.2.2"}, born)
		if err == nil {
			err = i.Keys.Install(certificates)
		}
		if err != nil {
			t.Fatal(err)
		}
		second[name] = i
	}
	trust, err := first.Keys.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(first.ServeCertify))
	server.Listener = tls.NewListener(server.Listener, trust.ServerTLS(first.Keys.TLS, first.Now))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	url := "https://" + server.Listener.Addr().String()
	now = born.Add(250 * 24 * time.Hour)
	if err := first.certifyHub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, i := range second {
		i.Records.Members.Take(fleet.Entry{Key: records.MemberPrefix + "hub1",
			Value: []byte(`{"name":"hub1","hubs":["` + url + `"],"authority":true}`), Rev: 1})
		before, err := i.Keys.Certificate()
		if err != nil {
			t.Fatal(err)
		}
		err = i.certifyHub(t.Context())
		after, _ := i.Keys.Certificate()
		if name == "hub2" && (err != nil || !after.NotAfter.After(before.NotAfter) || len(after.IPAddresses) != 1 ||
			after.URIs[0].String() != before.URIs[0].String()) {
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
	if _, err := second["hub2"].requestCertification(t.Context(), CertifyPath, jobID); err == nil ||
		!strings.Contains(err.Error(), "another key") {
		t.Errorf("another key: %v", err)
	}
}

// newCA returns the keys of the hub in a directory with a new fleet CA, which has certified them.
func newCA(t *testing.T, files host.FS, dir string, hosts []string, now time.Time) (*pki.Hub, *pki.CA) {
	t.Helper()
	if err := smallfile.Directory(files, dir); err != nil {
		t.Fatal(err)
	}
	root, err := pki.NewCA(files, dir+"/authority", "acme", now)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.OpenHub(files, dir+"/keys")
	if err != nil {
		t.Fatal(err)
	}
	request, err := keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := root.Certify(request, "hub1", hosts, now)
	if err == nil {
		err = keys.Install(certificates)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys, root
}
