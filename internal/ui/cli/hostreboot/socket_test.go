package hostreboot

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/slots"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/ui/cli"
)

// waitLink is a connection to a hub that knows one request.
type waitLink struct{ fleet.Link }

func (waitLink) Ask(_ context.Context, messageType string, body []byte) ([]byte, error) {
	if messageType != fleet.MessageWait || string(body) != "1" {
		return nil, errors.New("cannot understand " + messageType)
	}
	return []byte("2"), nil
}

// TestRunsReachHubs: requests of runs reach a hub through the socket of the agent, also after an agent that was killed.
func TestRunsReachHubs(t *testing.T) {
	root := t.TempDir()
	m := cli.Machine{Root: root}
	files, err := here.Root(root)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	ask := here.HubsOf(m)
	if _, err := ask(t.Context(), []byte("1")); !errors.Is(err, agentsocket.ErrNoAgent) {
		t.Errorf("without an agent: %v", err)
	}
	serve := func() func() {
		ctx, cancel := context.WithCancel(t.Context())
		k := &slots.Keeper{State: mem.New(mem.Options{}), File: "/slots.json", Look: time.Minute,
			Warn: func(text string) { t.Error(text) }}
		s := &cli.Printer{App: &cli.App{Agent: cli.Agent{Runs: here.ServeRuns}}}
		end := serveRuns(ctx, s, m, files, waitLink{}, k)
		return func() { cancel(); end() }
	}
	end := serve()
	if got, err := ask(t.Context(), []byte("1")); err != nil || string(got) != "2" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ask(t.Context(), []byte("3")); err == nil || err.Error() != "cannot understand wait" {
		t.Errorf("another request: %v", err)
	}
	socket := filepath.Join(root, agentsocket.Directory, agentsocket.Socket)
	if st, err := os.Stat(filepath.Dir(socket)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket: %v, %v", st, err)
	}
	end()
	if _, err := ask(t.Context(), []byte("1")); !errors.Is(err, agentsocket.ErrNoAgent) {
		t.Errorf("after the agent ended: %v", err)
	}
	defer serve()()
	if got, err := ask(t.Context(), []byte("1")); err != nil || string(got) != "2" {
		t.Errorf("after an agent that was killed: %q, %v", got, err)
	}
}

// TestPlansReachHubs: the agent answers questions of plans about locks.
func TestPlansReachHubs(t *testing.T) {
	root := t.TempDir()
	files, err := here.Root(root)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	k := &slots.Keeper{State: mem.New(mem.Options{}), File: "/slots.json", Look: time.Minute,
		Warn: func(text string) { t.Error(text) },
		Ask: func(_ context.Context, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
			return fleet.SlotAnswer{Free: r.Action == fleet.SlotObserve && r.Lock == "a"}, nil
		}}
	ctx, cancel := context.WithCancel(t.Context())
	m, s := cli.Machine{Root: root}, &cli.Printer{App: &cli.App{Agent: cli.Agent{Runs: here.ServeRuns}}}
	end := serveRuns(ctx, s, m, files, waitLink{}, k)
	defer func() { cancel(); end() }()
	o, ok := here.LocksOf(m).(executor.LockObserver)
	if !ok {
		t.Fatal("plans do not describe locks")
	}
	if got := o.Describe(t.Context(), []string{"a"}); len(got) != 1 || got[0] != "a slot of the lock a is free" {
		t.Errorf("%q", got)
	}
}

// TestEarlierAgent: an error names an agent of an earlier version.
func TestEarlierAgent(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "agent") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir := filepath.Join(root, "/run/fettle/locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "agent.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(filepath.Join(dir, "agent.sock"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = here.HubsOf(cli.Machine{Root: root})(t.Context(), []byte("1"))
	if err == nil || !strings.Contains(err.Error(), "earlier version of fettle. Restart it") {
		t.Errorf("%v", err)
	}
}
