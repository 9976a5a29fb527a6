package local_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/executor/wire"
)

// viaWire in the environment puts a connection between these tests and the engine.
const viaWire = "FETTLE_TEST_VIA_WIRE"

func overWire() bool { return os.Getenv(viaWire) != "" || throughHub() }

// hooked are tests that take hold of a run from its events, which over a connection
// come when it has gone on.
const hooked = "TestOverTheWire|TestThroughAHub|TestLocked|TestPhasesUndone|TestTraps"

// slow are tests that ask much and in which a connection changes little: damage on the
// disk, many runs one after the other, large files.
const slow = "TestPhasesCutShort|TestLawsOnDisk|TestEveryLookThatFails|TestNames|TestLargeSparseFileGoesThrough|" +
	"TestHugeSparseFile|TestDamagedStateDirectory|TestBrokeOff|TestBackAcrossSeveralRuns|TestLeavingAfterSeveralRuns"

// random are the tests of random histories.
const random = "TestWaysLeadToOneState|TestRememberedLook|TestLaws"

// TestOverTheWire runs the tests of this package once more with the engine that they
// ask at the other end of a connection: there is one suite for both. The short form
// leaves the tests without random histories to TestThroughAHub, whose streams use the
// same protocol.
func TestOverTheWire(t *testing.T) {
	run := "-test.run=^(" + random + ")$"
	if os.Getenv("FETTLE_LONG") != "" {
		run = "-test.skip=^(" + hooked + ")$"
	}
	cmd := exec.Command(os.Args[0], "-test.short", run)
	cmd.Env = append(os.Environ(), viaWire+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// asked is the engine as a test asks it: itself, or from the other end of a
// connection. Connections end with the process, as those of programs do.
func asked(t fataler, x *local.Executor) executor.Executor {
	t.Helper()
	if throughHub() {
		return askedThroughHub(t, x)
	}
	if !overWire() {
		return x
	}
	near, far := net.Pipe()
	go func() {
		_ = wire.Serve(context.Background(), far, wire.Served{Hello: wire.Hello{Version: "test"}, Now: time.Now, From: "test",
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return x, func() error { return nil }, nil
			}})
	}()
	c, err := wire.Dial(context.Background(), near, wire.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}
