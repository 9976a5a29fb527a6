package hub

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/pki"
)

// A hub that has only begun ends connections without an alert, which agents would take for
// the refusal of their certificate; one that is ready begins the handshake.
func TestOnlyBegun(t *testing.T) {
	h := &Hub{settled: make(chan struct{}), turnstile: pki.NewTurnstile()}
	try := func() (client, server error) {
		a, b := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- tls.Server(b, &tls.Config{GetConfigForClient: h.admit, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, io.ErrNoProgress }}).Handshake()
			_ = b.Close()
		}()
		return tls.Client(a, &tls.Config{ServerName: "hub"}).Handshake(), <-ended
	}
	client, server := try()
	if alert, ok := errors.AsType[*net.OpError](client); client == nil || ok && alert.Op == "remote error" || !errors.Is(server, bus.ErrNotYet) {
		t.Errorf("the agent gets %v, the hub %v", client, server)
	}
	close(h.settled)
	if _, server := try(); !errors.Is(server, io.ErrNoProgress) {
		t.Errorf("a hub that is ready ends a connection: %v", server)
	}
}
