package bus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key, a.cert = a.sign(template)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// conf has a certificate for fettle://test/ROLE/ID.
func (a *authority) conf(role, id string) *tls.Config {
	key, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: "fettle", Host: "test", Path: "/" + role + "/" + id}},
	})
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		RootCAs: a.pool, ClientCAs: a.pool, ServerName: "localhost"}
}

// of returns the identity in a certificate for a role.
func of(role string, state *tls.ConnectionState) (string, error) {
	for _, u := range state.PeerCertificates[0].URIs {
		if id, ok := strings.CutPrefix(u.Path, "/"+role+"/"); ok && u.Scheme == "fettle" && u.Host == "test" {
			return id, nil
		}
	}
	return "", errors.New("no certificate of a " + role)
}

func identify(state *tls.ConnectionState) (fleet.TargetID, error) {
	id, err := of("target", state)
	return fleet.TargetID(id), err
}

// listening starts a hub with TLS for agents.
func (a *authority) listening(dir, address string) (*bus.Server, error) {
	return bus.Start(context.Background(), bus.Config{Dir: dir, Listen: address, TLS: a.conf("hub", "hub1"),
		Identify: identify})
}

func (a *authority) listen(t testing.TB) *bus.Server {
	t.Helper()
	srv, err := a.listening(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func (a *authority) link(srv *bus.Server, id fleet.TargetID) bus.LinkConfig {
	conf := a.conf("target", string(id))
	return bus.LinkConfig{ID: id, URLs: []string{"tls://" + srv.Address().String()}, TLS: always(conf), Backoff: soon}
}

func always(conf *tls.Config) func() (*tls.Config, error) {
	return func() (*tls.Config, error) { return conf, nil }
}

func TestOverTLS(t *testing.T) {
	a := newAuthority(t)
	bustest.Conform(t, func(t *testing.T) bustest.Bus {
		srv := a.listen(t)
		return busOf(t, srv, func(id fleet.TargetID) bus.LinkConfig { return a.link(srv, id) })
	})
}

// TestStrangers: a client without the certificate of a target cannot connect.
func TestStrangers(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	srv := a.listen(t)
	mine := a.conf("target", string(bustest.ID(1)))
	for name, conf := range map[string]*tls.Config{
		"none": {RootCAs: a.pool, ServerName: "localhost"},
		"other authority": {RootCAs: a.pool, ServerName: "localhost",
			Certificates: other.conf("target", string(bustest.ID(1))).Certificates},
		"hub":               a.conf("hub", "hub1"),
		"person":            a.conf("person", "root"),
		"no identity":       a.conf("target", "x"),
		"wildcard":          a.conf("target", "*"),
		"all":               a.conf("target", ">"),
		"two parts":         a.conf("target", string(bustest.ID(1))+".>"),
		"the hub's user":    a.conf("target", "hub"),
		"the system's user": a.conf("target", "system"),
		"old TLS": {RootCAs: a.pool, ServerName: "localhost", Certificates: mine.Certificates,
			MaxVersion: tls.VersionTLS12},
	} {
		conf := conf
		if _, err := dialRaw(srv, conf); err == nil {
			t.Errorf("%s: was let in", name)
		}
	}
	r, err := dialRaw(srv, mine)
	if err != nil {
		t.Fatalf("with its certificate: %v", err)
	}
	_ = r.conn.Close()
}

// TestWhatIsAboutTheCertificate: an agent requests another certificate if its own is refused, but
// not if a hub is busy or ends the connection.
func TestWhatIsAboutTheCertificate(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	busy := errors.New("too much to do")
	for name, c := range map[string]struct {
		admit func(*tls.ClientHelloInfo) (*tls.Config, error)
		own   *authority // of the agent's certificate
		asks  bool
	}{
		"not believed": {own: other, asks: true},
		"busy":         {own: a, admit: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, busy }},
		"closed": {own: a, admit: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			return nil,
				errors.Join(busy, h.Conn.Close())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			conf := a.conf("hub", "hub1")
			conf.GetConfigForClient = c.admit
			srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: conf,
				Identify: identify})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			refused, failed := make(chan bool, 100), make(chan string, 100)
			link := a.link(srv, bustest.ID(1))
			mine := c.own.conf("target", string(bustest.ID(1)))
			mine.RootCAs = a.pool
			link.TLS = always(mine)
			link.Refused = func(context.Context) { refused <- true }
			link.Warn = func(text string) { failed <- text }
			l, err := bus.Dial(t.Context(), link)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for range 3 { // after the second failed attempt, the first one has made its request, if it makes one
				t.Log(<-failed)
			}
			if asked := len(refused) > 0; asked != c.asks {
				t.Errorf("another certificate was asked for: %v", asked)
			}
		})
	}
}
