package local_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// viaHub in the environment puts a hub between these tests and the engine: its API by
// TLS, its bus, and the agent's end of it.
const viaHub = "FETTLE_TEST_VIA_HUB"

func throughHub() bool { return os.Getenv(viaHub) != "" }

// TestThroughAHub runs the tests of this package once more with the engine that they ask
// behind a hub: there is one suite for all ways to a machine.
func TestThroughAHub(t *testing.T) {
	if overWire() {
		return
	}
	skip, checks := hooked+"|"+slow+"|"+random, "10" // TestOverTheWire has the random histories
	if os.Getenv("FETTLE_LONG") != "" {
		skip, checks = hooked, "100"
	}
	cmd := exec.Command(os.Args[0], "-test.short", "-test.skip=^("+skip+")$", "-rapid.checks="+checks)
	cmd.Env = append(os.Environ(), viaHub+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// bridge is a hub with one agent, for all tests of a process. The agent serves the engine
// that is asked for at the time.
type bridge struct {
	mu     sync.Mutex
	client *client.Client
	engine *local.Executor
	open   []*wire.Client // the newest last
}

// mostOpen is how many streams stay open: an agent serves some dozens, and no test asks
// an engine after so many others.
const mostOpen = 16

// theBridge ends with the process.
var theBridge = sync.OnceValues(func() (*bridge, error) {
	b := &bridge{}
	dir, err := os.MkdirTemp("", "bridge")
	if err != nil {
		return nil, err
	}
	srv, err := bus.Start(context.Background(), bus.Config{Dir: dir + "/bus", DontListen: true})
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(context.Background(), srv.Local(bustest.ID(1)))
	if err != nil {
		return nil, err
	}
	up := make(chan struct{})
	link.Changes(func(is bool) {
		if is {
			close(up)
		}
	})
	if err := link.ServeStreams(fleet.MessageExecutor, b.serve); err != nil {
		return nil, err
	}
	<-up
	if err := os.Mkdir(dir+"/hub", 0o700); err != nil {
		return nil, err
	}
	hub, err := apitest.New(dir + "/hub")
	if err != nil {
		return nil, err
	}
	hub.Open = func(by access.Principal, _ fleet.TargetID, changes bool) (io.ReadWriteCloser, error) {
		header, err := json.Marshal(fleet.ExecutorHeader{By: by.Name, Changes: changes})
		if err != nil {
			return nil, err
		}
		return srv.Exchange().Open(context.Background(), bustest.ID(1), fleet.MessageExecutor, header)
	}
	server, err := apitest.Serve(hub.Handler(), "hub")
	if err != nil {
		return nil, err
	}
	authority, err := client.Authority(context.Background(), server.URL)
	if err != nil {
		return nil, err
	}
	b.client, err = client.New(client.Login{Hub: server.URL, Token: "operate", Authority: authority})
	return b, err
})

// serve is the agent's end.
func (b *bridge) serve(ctx context.Context, header []byte, stream io.ReadWriteCloser) {
	var h fleet.ExecutorHeader
	x := b.engine
	if x == nil || json.Unmarshal(header, &h) != nil {
		_ = stream.Close()
		return
	}
	_ = wire.Serve(ctx, stream, wire.Served{Hello: wire.Hello{Version: "test"}, Now: time.Now, From: "test",
		ReadOnly: !h.Changes,
		Open: func(context.Context, bool) (executor.Executor, func() error, error) {
			return x, func() error { return nil }, nil
		}})
}

// askedThroughHub is an engine behind the hub.
func askedThroughHub(t fataler, x *local.Executor) executor.Executor {
	t.Helper()
	b, err := theBridge()
	if err != nil {
		t.Fatalf("%v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.engine = x
	stream, err := b.client.Executor(context.Background(), "web1", true, "test")
	if err != nil {
		t.Fatalf("%v", err)
	}
	c, err := wire.Dial(context.Background(), stream, wire.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if b.open = append(b.open, c); len(b.open) > mostOpen {
		_ = b.open[0].Close()
		b.open = b.open[1:]
	}
	return c
}
