package here

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/host/local"
)

// formerDirectory is the directory of the socket of earlier agents.
const formerDirectory = "/run/fettle/locks"

// agentOf returns a function that connects to the agent of a machine.
func agentOf(m Machine) agentsocket.Dial {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := local.DialIn(ctx, filepath.Join(m.Root, agentsocket.Directory), agentsocket.Socket)
		switch {
		case err == nil:
			return c, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("cannot ask the agent: %w", err)
		}
		c, err = local.DialIn(ctx, filepath.Join(m.Root, formerDirectory), agentsocket.Socket)
		if err != nil {
			return nil, agentsocket.ErrNoAgent
		}
		return nil, errors.Join(errors.New("the agent of this host is an earlier version of fettle. Restart it: "+
			"systemctl restart fettle-agent"), c.Close())
	}
}

// LocksOf returns the client of the agent of a machine for slots of locks.
func LocksOf(m Machine) executor.Locks {
	dial := agentOf(m)
	return &slots.Client{Clock: local.SinceBoot,
		Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return agentsocket.Open(ctx, dial, agentsocket.Slots)
		},
		Ask: func(ctx context.Context, question []byte) ([]byte, error) {
			return agentsocket.Ask(ctx, dial, agentsocket.Locks, question)
		}}
}

// HubsOf returns a function that asks the hubs about barriers and signals, through the agent of a machine.
func HubsOf(m Machine) func(ctx context.Context, request []byte) ([]byte, error) {
	dial := agentOf(m)
	return func(ctx context.Context, request []byte) ([]byte, error) {
		return agentsocket.Ask(ctx, dial, agentsocket.Waits, request)
	}
}

// ServeRuns serves the runs of a machine at the socket of its agent, until end is called. The directory of the socket
// must exist.
func ServeRuns(ctx context.Context, m Machine, serve func(context.Context, io.ReadWriteCloser)) (end func(),
	err error) {
	return local.ListenIn(ctx, filepath.Join(m.Root, agentsocket.Directory), agentsocket.Socket, serve)
}

// Clock returns the time since the boot of this host.
func Clock() time.Duration { return local.SinceBoot() }
