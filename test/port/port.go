// Package port reserves addresses for servers in tests.
//
//	hub.Listen = port.Reserve(t) // such as 127.0.0.1:14488
package port

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// Reserve returns an unused address, which belongs to the test until its end: no other call returns it, also in
// another process on this host. Its port is below the ports that the kernel gives to clients, because a server that
// restarts needs the same port again.
func Reserve(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(10000 + rand.IntN(22000))
		// An abstract socket (unix(7)) reserves the port: it exists once on a host, and ends with its process.
		reserved, err := net.Listen("unix", "@fettle-test-port-"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		at := net.JoinHostPort("127.0.0.1", port)
		l, err := net.Listen("tcp", at)
		if errors.Is(err, syscall.EADDRINUSE) {
			_ = reserved.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		t.Cleanup(func() { _ = reserved.Close() })
		return at
	}
}
