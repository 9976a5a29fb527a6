package stream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"testing"

	"fettle.dev/fettle/internal/stream"
	"fettle.dev/fettle/internal/stream/streamtest"
)

func TestPipes(t *testing.T) {
	streamtest.Conform(t, func(t *testing.T) (a, b io.ReadWriteCloser) {
		r1, w1, err1 := os.Pipe()
		r2, w2, err2 := os.Pipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return ends{r1, w2}, ends{r2, w1}
	})
}

type ends struct{ r, w *os.File }

func (e ends) Read(p []byte) (int, error)  { return e.r.Read(p) }
func (e ends) Write(p []byte) (int, error) { return e.w.Write(p) }
func (e ends) Close() error                { return errors.Join(e.r.Close(), e.w.Close()) }

func TestPipesInMemory(t *testing.T) {
	streamtest.Conform(t, func(*testing.T) (a, b io.ReadWriteCloser) { return net.Pipe() })
}

// buffer is the size of a buffer of the kernel, in bytes.
const buffer = 64 << 10

func TestTLS(t *testing.T) {
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err2 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	server := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	streamtest.Conform(t, func(t *testing.T) (a, b io.ReadWriteCloser) {
		here, err1 := net.Dial("tcp", l.Addr().String())
		there, err2 := l.Accept()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, c := range []net.Conn{here, there} { // smaller than what the suite sends
			if err := errors.Join(c.(*net.TCPConn).SetReadBuffer(buffer), c.(*net.TCPConn).SetWriteBuffer(buffer)); err != nil {
				t.Fatal(err)
			}
		}
		return tls.Client(here, &tls.Config{InsecureSkipVerify: true}), tls.Server(there, server)
	})
}

func TestMessages(t *testing.T) {
	streamtest.Conform(t, func(t *testing.T) (io.ReadWriteCloser, io.ReadWriteCloser) {
		var a, b *stream.Stream
		toA, toB := make(chan []byte, 1000), make(chan []byte, 1000)
		send := func(to chan []byte) stream.Messages {
			return stream.Messages{Send: func(f []byte) error { to <- f; return nil }}
		}
		a, b = stream.Over(send(toB)), stream.Over(send(toA))
		go func() {
			for {
				select {
				case f := <-toA:
					a.Receive(f)
				case f := <-toB:
					b.Receive(f)
				case <-t.Context().Done():
					return
				}
			}
		}()
		return a, b
	})
}
