package client_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestDeadSocket: the error about the socket of a killed hub contains the remedy.
func TestDeadSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "hub.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Login{Hub: "unix://" + socket})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Get(t.Context(), c, route.Status())
	if !errors.Is(err, client.ErrStopped) || !strings.Contains(err.Error(), "systemctl start fettle-hub") ||
		!strings.Contains(err.Error(), "remove "+socket) {
		t.Errorf("it says %v", err)
	}
}
