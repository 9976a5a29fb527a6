package line

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// errOver ends handshakes once they were let in.
var errOver = errors.New("over")

// try connects, and gives how it ended for both. The handshake ends when go on is closed.
func try(s *Turnstile, goOn <-chan struct{}) (client, server error) {
	a, b := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- tls.Server(b, &tls.Config{GetConfigForClient: s.Admit, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			<-goOn
			return nil, errOver
		}}).Handshake()
		_ = b.Close()
	}()
	return tls.Client(a, &tls.Config{ServerName: "hub"}).Handshake(), <-ended
}

// So many handshakes go on at once and no more; one that has ended makes room at once, and
// one that does not go on after a while. Who waits for too long hears no alert.
func TestTurnstile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		close(over)
		s := newTurnstile(2, 100*time.Millisecond)
		for range 5 {
			if _, err := try(s, over); !errors.Is(err, errOver) {
				t.Fatal(err)
			}
		}
		stuck := make(chan struct{})
		for range 2 {
			go func() { _, _ = try(s, stuck) }()
		}
		synctest.Wait()
		client, server := try(s, over)
		if alert, ok := errors.AsType[*net.OpError](client); !errors.Is(server, ErrCrowd) || ok && alert.Op == "remote error" || !errors.Is(client, io.EOF) {
			t.Errorf("the hub says %v, and the agent gets %v", server, client)
		}
		time.Sleep(passFor)
		synctest.Wait()
		if _, err := try(s, over); !errors.Is(err, errOver) {
			t.Errorf("those who do not go on keep others out: %v", err)
		}
		close(stuck)
		synctest.Wait()
	})
}

// One address has a quarter of the handshakes; another address finds a slot at once.
func TestTurnstileOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurnstile(8, time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		admitted := 0
		for range 8 {
			if _, err := s.admit(ctx, place("192.0.2.1")); err == nil {
				admitted++
			}
		}
		if admitted != 2 {
			t.Errorf("one address has %d of 8 handshakes", admitted)
		}
		free, err := s.admit(t.Context(), place("192.0.2.2"))
		if err != nil {
			t.Fatal(err)
		}
		free()
		time.Sleep(passFor)
		synctest.Wait()
		if len(s.all) != 0 || len(s.slots) != 0 {
			t.Errorf("all have ended, and %d addresses and %d slots remain", len(s.all), len(s.slots))
		}
	})
}
