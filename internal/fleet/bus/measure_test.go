package bus

import (
	"fmt"
	"net"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus/choice"
)

// TestMeasure measures a hub that answers and a hub that does not.
func TestMeasure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	all := []string{fmt.Sprintf("tls://%s", l.Addr()), fmt.Sprintf("tls://%s", closed.Addr())}
	var c choice.Choice
	measure(t.Context(), &c, all)
	if unknown := c.Unknown(all, time.Now()); unknown != nil {
		t.Errorf("%v are not measured", unknown)
	}
	if c.Next(all, time.Now()) != all[0] {
		t.Error("the hub that answers is not used first")
	}
}
