package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/isolated"
)

var _ host.Isolator = (*Host)(nil)

// Isolate implements host.Isolator.
func (h *Host) Isolate(network bool) (host.Isolated, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only root can isolate it: %w", host.ErrUnsupported)
	}
	v, err := isolated.Open(isolated.Options{Network: network})
	if err != nil {
		return nil, fmt.Errorf("it cannot be isolated here: %w (%w)", err, host.ErrUnsupported)
	}
	return &isolatedHost{h: h, view: v, network: network}, nil
}

// isolatedHost is a view of the host. Its programs run one after another, so that the use of the
// network can be attributed.
type isolatedHost struct {
	h       *Host
	view    *isolated.View
	network bool
	mu      sync.Mutex
}

// ownRoot keeps systemctl from taking the root of a view for a chroot, in which it answers
// nothing and succeeds.
const ownRoot = "SYSTEMD_IGNORE_CHROOT=1"

// Run implements host.Isolated.
func (i *isolatedHost) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	cmd, err := i.h.command(c)
	if err != nil {
		return host.CommandResult{}, err
	}
	cmd.Env = append(cmd.Env, ownRoot)
	before := i.packets()
	res, err := i.h.executeBy(ctx, cmd, c.Timeout, c.Watch, i.start)
	if err == nil && i.packets() != before {
		return host.CommandResult{}, host.ErrUsesNetwork
	}
	return res, err
}

func (i *isolatedHost) packets() int64 {
	if i.network {
		return 0
	}
	return i.view.Packets()
}

// start starts the command on the thread of the view, which lives as long as the view: the
// kernel delivers the parent-death signal when it ends.
func (i *isolatedHost) start(cmd *exec.Cmd) (<-chan error, error) {
	var err error
	i.view.Do(func() { err = cmd.Start() })
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- ofInterest(cmd.Wait()) }()
	return done, nil
}

// Close implements host.Isolated.
func (i *isolatedHost) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.view.Close()
	return nil
}
