package port_test

import (
	"net"
	"testing"

	"fettle.dev/fettle/test/port"
)

// All reserved addresses are different, also while nobody listens on them.
func TestReserve(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		at := port.Reserve(t)
		if seen[at] {
			t.Fatalf("%s is reserved twice", at)
		}
		seen[at] = true
	}
	for at := range seen {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
