package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestServingNotifiesSystemd: systemd learns that a hub serves, and that it stopped serving.
func TestServingNotifiesSystemd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: file, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", "")
	serving(true) // without a service manager
	t.Setenv("NOTIFY_SOCKET", file)
	for serves, want := range map[bool]string{
		true: "READY=1\nSTATUS=Serves agents and users.", false: "RELOADING=1\nSTATUS=Does not serve, and tries again.",
	} {
		serving(serves)
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("serving %v sends %q, %v, want %q", serves, b[:n], err, want)
		}
	}
}
