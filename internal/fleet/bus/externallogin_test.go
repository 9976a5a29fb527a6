package bus_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// secure starts a NATS server with TLS and a certificate of a.
func (a *authority) secure(t *testing.T, change func(*server.Options)) (url string) {
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, MaxPayload: 4 << 20, JetStream: true,
		StoreDir: t.TempDir(),
		TLS:      true, TLSConfig: a.conf("server", "nats1"), TLSTimeout: 5, Username: "fettle", Password: bustest.Password,
	}
	change(o)
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	_, port, _ := net.SplitHostPort(s.Addr().String())
	return "tls://localhost:" + port
}

// tryAt starts a hub with a NATS server whose certificates are verified by ca.
func (a *authority) tryAt(t *testing.T, url string, ca *authority, login []byte) error {
	f := &bus.ExternalNats{
		URLs: []string{url}, Login: login, Prefix: "acme", Key: make([]byte, bus.KeySize), Replicas: 1,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}),
	}
	if err := f.Check(); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	srv, err := a.tryOver(ctx, t, "hub1", f)
	if err == nil {
		srv.Close()
	}
	return err
}

// TestExternalNatsOverTLS: the certificate of the cluster is verified by the given CA certificates only.
func TestExternalNatsOverTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	url := a.secure(t, func(*server.Options) {})
	login := []byte("fettle:" + bustest.Password)
	if err := a.tryAt(t, url, a, login); err != nil {
		t.Error(err)
	}
	if err := a.tryAt(t, url, other, login); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that another authority vouches for: %v", err)
	} else {
		t.Log(err)
	}
}

// pemOf returns a certificate and its key in the form of a credentials file.
func (a *authority) pemOf(t *testing.T, name string) []byte {
	c := a.conf("hub", name).Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// TestExternalNatsByCertificate: a cluster that requires client certificates gets the certificate of the
// credentials, with or without a password. A hub without a certificate, or with a certificate of
// another CA, fails at once.
func TestExternalNatsByCertificate(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	url := a.secure(t, func(o *server.Options) {
		o.TLSVerify, o.TLSConfig.ClientAuth, o.TLSConfig.ClientCAs = true, tls.RequireAndVerifyClientCert, a.pool
	})
	mapped := a.secure(t, func(o *server.Options) {
		o.TLSMap, o.TLSVerify, o.TLSConfig.ClientAuth, o.TLSConfig.ClientCAs = true, true, tls.RequireAndVerifyClientCert,
			a.pool
		o.Username, o.Password, o.Users = "", "", []*server.User{{Username: "localhost"}}
	})
	password := []byte("fettle:" + bustest.Password + "\n")
	for _, c := range []struct {
		name, url string
		login     []byte
		want      string
	}{
		{"certificate and password", url, slices.Concat(a.pemOf(t, "hub1"), password), ""},
		{"certificate as a user", mapped, a.pemOf(t, "hub1"), ""},
		{"no certificate", url, password, "credentials"},
		{"of another authority", url, slices.Concat(other.pemOf(t, "hub1"), password), "credentials"},
		{"without the password", url, a.pemOf(t, "hub1"), "credentials"},
		{"without TLS", "nats://localhost:4222", a.pemOf(t, "hub1"), "give a tls://"},
		{"two lines", url, slices.Concat(a.pemOf(t, "hub1"), password, password), "alone or before these"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := a.tryAt(t, c.url, a, c.login)
			if (err == nil) != (c.want == "") || err != nil &&
				(!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), bustest.Password)) {
				t.Errorf("got %v", err)
			}
			t.Log(err)
		})
	}
}
