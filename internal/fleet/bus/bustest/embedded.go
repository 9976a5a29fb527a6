package bustest

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"

	"fettle.dev/fettle/internal/fleet/bus"
)

// OutsideOfBubbles is called in TestMain by whoever uses Embedded under
// testing/synctest. The server has one goroutine for the whole process, which waits on
// a channel that was made before any bubble: begun within one it would stop time there.
// TestVirtualTime fails when this does not help any more.
func OutsideOfBubbles() { ats.Register() }

// Embedded is the real bus with a directory of its own, reached only from within this
// process: see bus.Server.Local. It ends with the test.
func Embedded(t testing.TB) *bus.Server {
	t.Helper()
	srv, err := bus.Start(context.Background(), bus.Config{Dir: t.TempDir(), DontListen: true, Warn: func(text string) { t.Logf("bus: %s", text) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}
