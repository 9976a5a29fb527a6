package hub_test

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// free returns an unused address. Its port is below the ports that the kernel gives to clients,
// because a hub that restarts needs the same port again.
func free(t *testing.T) string {
	t.Helper()
	for {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(22000)))
		l, err := net.Listen("tcp", at)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		return at
	}
}
