package pki_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// ownedBy returns certificates of every kind of one fleet CA and one hub, each with its key, as
// connections present them.
func ownedBy(t *testing.T, a *pki.CA, h *pki.Hub) map[pki.Kind]*tls.Certificate {
	t.Helper()
	shown := func(key crypto.Signer, chain ...*x509.Certificate) *tls.Certificate {
		c := &tls.Certificate{PrivateKey: key, Leaf: chain[0]}
		for _, x := range chain {
			c.Certificate = append(c.Certificate, x.Raw)
		}
		return c
	}
	must := func(c *x509.Certificate, err error) *x509.Certificate {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	issuer := issuerOf(t, h)
	target, person := newKey(t), newKey(t)
	id, err := pki.TargetIDOf(target.Public())
	if err != nil {
		t.Fatal(err)
	}
	services, err := pki.OpenServices(mem.NewFS(mem.Options{}), "/services")
	if err != nil {
		t.Fatal(err)
	}
	request, err := services.Request()
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.CertifyServices(request, "hub1", nil, start())
	if err != nil {
		t.Fatal(err)
	}
	if err := services.Install(text); err != nil {
		t.Fatal(err)
	}
	own, err := h.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return map[pki.Kind]*tls.Certificate{
		pki.HubKind:      own,
		pki.SignerKind:   shown(h.SigningKey(), signerOf(t, h)),
		pki.IssuerKind:   shown(pki.IssuingKey(h), issuer.Certificate()),
		pki.ServicesKind: shown(pki.ServicesKey(services), must(services.Certificate())),
		pki.TargetKind: shown(target, must(issuer.Target(target.Public(), id, pki.Claims{Name: "web1"}, start())),
			issuer.Certificate()),
		pki.UserKind: shown(person, must(issuer.User(person.Public(), "ada", time.Hour, start())), issuer.Certificate()),
	}
}

// ends returns the result of a handshake at each end. It uses the loopback: over a pipe, two ends
// that both send data wait for each other.
func ends(t *testing.T, server, client *tls.Config) (servers, clients error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs := make(chan error, 1)
	go func() {
		b, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			theirs <- err
			return
		}
		defer b.Close()
		theirs <- tls.Client(b, client).Handshake()
	}()
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	servers = tls.Server(a, server).Handshake()
	a.Close()
	return servers, <-theirs
}

// showing is an end that accepts every certificate and presents one, nil for none.
func showing(c *tls.Certificate) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true,
		ClientAuth:         tls.RequestClientCert,
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if c == nil {
				return &tls.Certificate{}, nil
			}
			return c, nil
		},
	}
}

// side is one of the TLS configurations, and the certificates that it accepts.
type side struct {
	name   string
	client bool // it is a client, and verifies a server
	conf   func(pki.Trust, *pki.Hub, func() time.Time) *tls.Config
	takes  []pki.Kind // accepted kinds
	nobody bool       // it accepts an end without a certificate
	ended  bool       // it accepts an expired certificate
}

func sides() []side {
	return []side{
		{name: "HTTPS", takes: []pki.Kind{pki.TargetKind, pki.UserKind, pki.HubKind}, nobody: true, ended: true,
			conf: func(t pki.Trust, h *pki.Hub, now func() time.Time) *tls.Config { return t.ServerTLS(h.TLS, now) }},
		{name: "bus", takes: []pki.Kind{pki.TargetKind, pki.HubKind},
			conf: func(t pki.Trust, h *pki.Hub, now func() time.Time) *tls.Config { return t.BusTLS(h.TLS, now) }},
		{name: "hub, called", takes: []pki.Kind{pki.HubKind},
			conf: func(t pki.Trust, h *pki.Hub, now func() time.Time) *tls.Config { return t.HubTLS(h.TLS, now) }},
		{name: "hub, calling", client: true, takes: []pki.Kind{pki.HubKind},
			conf: func(t pki.Trust, h *pki.Hub, now func() time.Time) *tls.Config { return t.HubTLS(h.TLS, now) }},
		{name: "client", client: true, takes: []pki.Kind{pki.HubKind}, ended: true,
			conf: func(t pki.Trust, h *pki.Hub, now func() time.Time) *tls.Config { return t.ClientTLS(h.TLS, now, nil) }},
		{name: "client without a certificate", client: true, takes: []pki.Kind{pki.HubKind}, ended: true,
			conf: func(t pki.Trust, _ *pki.Hub, now func() time.Time) *tls.Config { return t.ClientTLS(nil, now, nil) }},
	}
}

// meets connects a configuration to an end with a certificate, and returns the result of the
// configuration.
func (s side) meets(t *testing.T, conf *tls.Config, c *tls.Certificate) error {
	t.Helper()
	other := showing(c)
	if s.client {
		servers, clients := ends(t, other, conf)
		if (servers == nil) != (clients == nil) {
			t.Errorf("%s: one end takes the other, and not the other way round: %v, %v", s.name, servers, clients)
		}
		return clients
	}
	servers, _ := ends(t, conf, other)
	return servers
}

// Each configuration accepts only certificates of its kinds. The refused certificates differ only
// in their kind: they have the same fleet CA, hub and time.
func TestKindsOfCertificatesByConfiguration(t *testing.T) {
	a := newAuthority(t, "acme")
	h := newHub(t, a, "hub1")
	trust, now := trustOf(t, h, nil), func() time.Time { return start() }
	all := ownedBy(t, a, h)
	if len(all) != 6 {
		t.Fatal("a kind is missing")
	}
	for _, s := range sides() {
		for kind, c := range all {
			err := s.meets(t, s.conf(trust, h, now), c)
			switch takes := slices.Contains(s.takes, kind); {
			case takes && err != nil:
				t.Errorf("%s refuses a %s: %v", s.name, kind, err)
			case !takes && err == nil:
				t.Errorf("%s takes a %s", s.name, kind)
			case !takes && !strings.Contains(err.Error(), "the certificate of a "+string(kind)+" here"):
				t.Errorf("%s refuses a %s for something else: %v", s.name, kind, err)
			}
		}
		if !s.client {
			if err := s.meets(t, s.conf(trust, h, now), nil); (err == nil) != s.nobody {
				t.Errorf("%s and an end without a certificate: %v", s.name, err)
			}
		}
	}
}

// No configuration accepts another fleet CA, an earlier version of TLS, or a revoked certificate.
// Expired certificates are accepted only where this is documented. A certificate that begins later is
// accepted.
func TestEveryConfiguration(t *testing.T) {
	a := newAuthority(t, "acme")
	h := newHub(t, a, "hub1")
	twin := newAuthority(t, "acme")
	foreign := ownedBy(t, twin, newHub(t, twin, "hub1"))
	all := ownedBy(t, a, h)
	at := func(d time.Duration) func() time.Time { return func() time.Time { return start().Add(d) } }
	revoked := trustOf(t, h, nil)
	revoked.Revoked = func(string, pki.Name) bool { return true }
	for _, s := range sides() {
		for _, kind := range s.takes {
			trust := trustOf(t, h, nil)
			end := all[kind].Leaf.NotAfter.Sub(start())
			for what, c := range map[string]struct {
				conf  *tls.Config
				shown *tls.Certificate
				takes bool
			}{
				"good":              {s.conf(trust, h, at(0)), all[kind], true},
				"another authority": {s.conf(trust, h, at(0)), foreign[kind], false},
				"revoked":           {s.conf(revoked, h, at(0)), all[kind], false},
				"ended":             {s.conf(trust, h, at(end+time.Second)), all[kind], s.ended},
				"the last second":   {s.conf(trust, h, at(end)), all[kind], true},
				"not yet":           {s.conf(trust, h, at(-pki.Backdate-time.Second)), all[kind], true},
			} {
				if err := s.meets(t, c.conf, c.shown); (err == nil) != c.takes {
					t.Errorf("%s, a %s, %s: %v", s.name, kind, what, err)
				}
			}
			older := s.conf(trust, h, at(0))
			other := showing(all[kind])
			other.MaxVersion = tls.VersionTLS12
			server, client := older, other
			if s.client {
				server, client = other, older
			}
			if servers, clients := ends(t, server, client); servers == nil || clients == nil {
				t.Errorf("%s speaks TLS 1.2 with a %s", s.name, kind)
			}
		}
	}
}

// An agent refuses a hub whose certificate expired before the minimum time, for any clock.
func TestClientsKeepTheirMinimumTime(t *testing.T) {
	a := newAuthority(t, "acme")
	h := newHub(t, a, "hub1")
	end := leafOf(t, h).NotAfter
	own, err := h.TLS()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		floor time.Time
		takes bool
	}{{time.Time{}, true}, {end, true}, {end.Add(time.Second), false}} {
		conf := trustOf(t, h, nil).ClientTLS(nil, start, func() time.Time { return c.floor })
		if _, err := ends(t, showing(own), conf); (err == nil) != c.takes {
			t.Errorf("with the floor %s: %v", c.floor, err)
		}
	}
}

// A revoked name revokes its certificates, and a revoked hub all four of its keys. A serial revokes
// one certificate.
func TestWhatARevocationTakes(t *testing.T) {
	kinds := []pki.Kind{pki.HubKind, pki.SignerKind, pki.IssuerKind, pki.ServicesKind, pki.TargetKind, pki.UserKind}
	ids := func(k pki.Kind) [2]string {
		if k == pki.TargetKind {
			return [2]string{someTarget, "bbbbbbbbbbbbbbbbbbbbbbbbba"}
		}
		return [2]string{"h1", "h2"}
	}
	key := newHub(t, newAuthority(t, "acme"), "h9").SigningKey()
	for _, revoked := range kinds {
		set := &pki.Revocations{}
		fact, err := pki.Revocation{Name: pki.Name{Fleet: "acme", Kind: revoked, ID: ids(revoked)[0]}.String(),
			Fleet: "acme", At: 1, By: "ada"}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Add(fact, fleet.KeysOf(publicOf(key))); err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			ofHub := revoked == pki.HubKind && (k == pki.SignerKind || k == pki.IssuerKind || k == pki.ServicesKind)
			for i, id := range ids(k) {
				want := i == 0 && (k == revoked || ofHub)
				if got := set.Revoked("1f", pki.Name{Fleet: "acme", Kind: k, ID: id}); got != want {
					t.Errorf("with the %s the %s %s is revoked: %t", revoked, k, id, got)
				}
			}
		}
	}
	set := &pki.Revocations{}
	fact, err := pki.Revocation{Serial: "1f", Fleet: "acme", At: 1, By: "ada"}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Add(fact, fleet.KeysOf(publicOf(key))); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		n := pki.Name{Fleet: "acme", Kind: k, ID: ids(k)[0]}
		if !set.Revoked("1f", n) || set.Revoked("2f", n) {
			t.Errorf("a serial revokes the %s wrongly", k)
		}
	}
}
