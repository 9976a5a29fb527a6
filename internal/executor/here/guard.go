package here

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
)

// guard starts the watcher, which reverts an armed run at its deadline even if this
// process dies. If systemd runs the machine, the watcher is a separate unit: it survives
// the end of the login session and of the calling service. Otherwise it is a process in a
// separate session.
func guard(h *local.Host, m Machine) func(context.Context, time.Time) error {
	return func(ctx context.Context, deadline time.Time) error {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("cannot find the binary that would undo the run: %w", err)
		}
		argv := []string{self, WatchCommand, "--from", strconv.FormatInt(deadline.UnixNano(), 10), "--root", m.Root,
			"--state", m.State}
		if m.Identity != "" {
			argv = append(argv, "--identity", m.Identity)
		}
		if _, err := os.Stat("/run/systemd/system"); err == nil && m.Root == "/" {
			return inUnit(ctx, h, argv, deadline)
		}
		return local.Detach(argv)
	}
}

func inUnit(ctx context.Context, h *local.Host, argv []string, deadline time.Time) error {
	unit := fmt.Sprintf("--unit=fettle-watch-%d", deadline.UnixNano())
	run := append([]string{"systemd-run", "--quiet", "--collect", unit, "--description=Undoes an unconfirmed fettle run",
		"--"}, argv...)
	res, err := h.Run(ctx, host.Command{Argv: run, Timeout: 30 * time.Second})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot start the watcher: systemd-run: %s", res.Stderr)
	}
	return err
}
