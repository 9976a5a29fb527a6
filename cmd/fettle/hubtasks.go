package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/hub/hubtasks"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/sandbox"
	hubcmd "fettle.dev/fettle/internal/ui/cli/hub"
)

// hubSigners are the keys that must sign commits with tasks that a hub does. The file is the one of the agent.
const hubSigners = "/etc/fettle/allowed_signers"

// signersOfHub returns the keys that must sign commits with tasks, nil without the file.
func signersOfHub() ([]byte, error) {
	text, err := os.ReadFile(hubSigners)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the allowed signers: %w", err)
	}
	return append([]byte{}, text...), nil
}

// runTasks runs commands of tasks for the hub on this host. Its user must be another one.
func runTasks(ctx context.Context, t hubcmd.TasksRun) error {
	u, err := lookupUser(t.User)
	if err != nil {
		return err
	}
	if me := os.Geteuid(); me == 0 || me == int(u.UID) {
		return fmt.Errorf("cannot run tasks as root or as %s: commands of the repository could read the keys of the hub. "+
			"Use another user, as the service fettle-hub-tasks does", t.User)
	}
	if err := sandbox.KeepMemory(); err != nil { // it contains secrets of other tasks
		return err
	}
	l, err := listenFor(t.Socket, int(u.UID), 0o666)
	if err != nil {
		return err
	}
	h, err := local.Open("/", local.Options{})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { _ = h.Close() }()
	t.Ready()
	return serveTasks(ctx, l, hubtasks.Server{Run: h.Run, Now: time.Now,
		Test: func(ctx context.Context, p query.Probe, limit time.Duration) error {
			s, err := p.Step(limit)
			if err != nil {
				return err
			}
			return here.Check(ctx, here.Machine{Root: "/"}, s, limit)
		}})
}

// serveTasks serves connections of the hub until ctx ends, and then waits for the commands, which are killed.
func serveTasks(ctx context.Context, l net.Listener, s hubtasks.Server) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot accept connections of the hub: %w", err)
		}
		serving.Go(func() { s.Serve(ctx, conn) })
	}
}

// taskClient returns a client of the service for tasks at a socket.
func taskClient(socket string) hubtasks.Client {
	return hubtasks.Client{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
}
