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
	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/host/local"
)

// slotsOf returns the client of the agent of a machine.
func slotsOf(m Machine) executor.Locks {
	dir := filepath.Join(m.Root, slots.Directory)
	return &slots.Client{Clock: local.SinceBoot, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := local.DialIn(ctx, dir, slots.Socket)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, slots.ErrNoAgent
		}
		if err != nil {
			return nil, fmt.Errorf("cannot ask the agent: %w", err)
		}
		return c, nil
	}}
}

// ServeSlots serves the runs of a machine that need slots, until end is called. The directory must exist.
func ServeSlots(ctx context.Context, m Machine, serve func(context.Context, io.ReadWriteCloser)) (end func(),
	err error) {
	return local.ListenIn(ctx, filepath.Join(m.Root, slots.Directory), slots.Socket, serve)
}

// Clock returns the time since the boot of this host.
func Clock() time.Duration { return local.SinceBoot() }
