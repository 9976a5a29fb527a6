package bustest

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"

	"fettle.dev/fettle/internal/fleet/bus"
)

// OutsideOfBubbles must be called in TestMain if tests use Embedded under testing/synctest. The
// NATS server has one goroutine for the whole process. It waits on a channel, which must be created
// outside a bubble; within a bubble, it would stop the virtual time. TestVirtualTime fails if this
// call no longer suffices.
func OutsideOfBubbles() { ats.Register() }

// Embedded starts the real bus with its own directory, reachable only from within this process: see
// bus.Server.Local. It ends with the test.
func Embedded(t testing.TB) *bus.Server {
	t.Helper()
	srv, err := bus.Start(context.Background(), bus.Config{Dir: t.TempDir(), DontListen: true,
		Warn: func(text string) { t.Logf("bus: %s", text) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}
