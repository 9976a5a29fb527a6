package agentconn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// over is a server behind real sockets and TLS that accepts any client as an agent.
func over(t *testing.T) (d *Server, told *record, dial func() *tls.Conn) {
	d, told, l, c := behind(t, nil)
	go func() { _ = d.Serve(l) }()
	return d, told, func() *tls.Conn {
		c, err := tls.Dial("tcp", l.Addr().String(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// behind is such a server that does not serve yet, with the client's settings. begun is called for
// each handshake.
func behind(t *testing.T, begun func()) (d *Server, told *record, l net.Listener, client *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"hub"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	conf := &tls.Config{MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	conf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if begun != nil {
			begun()
		}
		return nil, nil
	}
	if l, err = tls.Listen("tcp", "127.0.0.1:0", conf); err != nil {
		t.Fatal(err)
	}
	d, told = newServer(t, Watch{})
	d.config.Identify = func(*tls.ConnectionState) (fleet.TargetID, error) { return one, nil }
	return d, told, l, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: "hub"}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not come: %s", what)
		}
	}
}

// parked returns the number of connections without a goroutine.
func parked(d *Server) int {
	return len(d.conns(func(g *serverConn) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.parked
	}))
}

// TestParked: for any division of the sent bytes, each message arrives once and in order, and
// between messages a connection has no goroutine.
func TestParked(t *testing.T) {
	d, told, dial := over(t)
	heard := make(chan string, 1000)
	if err := d.Receive("f.*.up.q.*", "", func(m Message) {
		heard <- fmt.Sprintf("%s %d", m.Subject,
			len(m.Body))
	}); err != nil {
		t.Fatal(err)
	}
	c := dial()
	until(t, "it is parked", func() bool { return parked(d) == 1 })
	dice := mrand.New(mrand.NewPCG(1, 2))
	for round := range 50 {
		var sent []byte
		var want []string
		for range 1 + dice.IntN(4) {
			size := dice.IntN(3000) * dice.IntN(8)
			sent = packMessage(sent, fmt.Sprint("q.", round), "", make([]byte, size))
			want = append(want, fmt.Sprintf("%s %d", Up(one, fmt.Sprint("q.", round)), size))
		}
		for len(sent) > 0 {
			n := min(len(sent), 1+dice.IntN(5000))
			if _, err := c.Write(sent[:n]); err != nil {
				t.Fatal(err)
			}
			sent = sent[n:]
			if dice.IntN(3) == 0 {
				until(t, "what came is read", func() bool { return parked(d) == 1 || len(sent) > 0 })
			}
		}
		for _, w := range want {
			if got := <-heard; got != w {
				t.Fatalf("heard %s, want %s", got, w)
			}
		}
		until(t, "it is parked again", func() bool { return parked(d) == 1 })
	}
	told.is(t, "admit a 1")
}

// TestParkedEnds: the end of a parked connection is detected, from either side.
func TestParkedEnds(t *testing.T) {
	d, told, dial := over(t)
	ends := map[uint64]func(*tls.Conn){
		1: func(c *tls.Conn) { _ = c.Close() },
		2: func(c *tls.Conn) { _ = c.NetConn().(*net.TCPConn).SetLinger(0); _ = c.NetConn().Close() },
		3: func(*tls.Conn) { d.Kick(3) },
		4: func(c *tls.Conn) { _, _ = c.Write([]byte("\x00\x00\x00\x00M")) },
	}
	for n := uint64(1); n <= uint64(len(ends)); n++ {
		want := []string{fmt.Sprint("admit a ", n), fmt.Sprint("gone ", n)}
		if n == 4 {
			want = slices.Insert(want, 1, "broke a: "+brokeForm)
		}
		c := dial()
		until(t, "it is parked", func() bool { return parked(d) == 1 })
		ends[n](c)
		until(t, "it is gone", func() bool { return d.Open() == 0 })
		until(t, "that is told", func() bool {
			told.mu.Lock()
			defer told.mu.Unlock()
			return len(told.all) == len(want)
		})
		told.is(t, want...)
	}
	dial()
	until(t, "the last is parked", func() bool { return parked(d) == 1 })
	d.Close(0)
	told.is(t, "admit a 5", "gone 5")
}
