package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/ui/cli"
)

// openFiles opens the state directory for the files of an agent beside the journal.
func openFiles(m cli.Machine) (host.FS, func() error, error) {
	m.ReadOnly = false
	return here.State(m)
}

// services opens a host to write files for its services, and to reload them.
func services(m cli.Machine) (host.FS, func(context.Context, string) error, func() error, error) {
	h, err := here.Root(m.Root)
	if err != nil {
		return nil, nil, nil, err
	}
	reload := func(ctx context.Context, unit string) error {
		r, err := h.Run(ctx, host.Command{Argv: []string{"systemctl", "reload-or-restart", "--", unit}, Mutates: true})
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("systemctl ended with %d: %.500s", r.ExitCode, bytes.TrimSpace(r.Stderr))
		}
		return err
	}
	return h, reload, h.Close, nil
}

// watched returns the boot ID of a host, and a function that reports changes of its units.
func watched(m cli.Machine) (boot string, units func(context.Context, func(string)) error) {
	h, err := here.Root(m.Root)
	if err != nil {
		return "", nil
	}
	boot = h.BootID()
	u, err := h.Units()
	if w, ok := u.(host.UnitWatcher); ok && err == nil {
		return boot, w.WatchUnits // the host stays open as long as the process lives
	}
	_ = h.Close()
	return boot, nil
}

// ready notifies systemd, if requested, that a daemon is ready, and then sends keep-alives twice in
// each interval of its watchdog.
func ready(ctx context.Context) func() {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return func() {}
	}
	tell(socket, "READY=1")
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		stays(ctx, socket)
	}()
	return func() { stop(); <-done }
}

// serving notifies systemd, if requested, whether the hub serves. A hub that stopped serving is
// reloading, because systemd has no other state for a service that is active but not ready.
func serving(serves bool) {
	socket := os.Getenv("NOTIFY_SOCKET")
	switch {
	case socket == "":
	case serves:
		tell(socket, "READY=1\nSTATUS=Serves agents and users.")
	default:
		tell(socket, "RELOADING=1\nSTATUS=Does not serve, and tries again.")
	}
}

func stays(ctx context.Context, socket string) {
	every := time.Hour
	if usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 {
		every = time.Duration(usec) * time.Microsecond / 2
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			tell(socket, "WATCHDOG=1")
		case <-ctx.Done():
			tell(socket, "STOPPING=1")
			return
		}
	}
}

func tell(socket, text string) {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err == nil {
		_, err = fmt.Fprint(c, text)
		_ = c.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot tell systemd: %v\n", err)
	}
}

// calm releases resources that a daemon needs only while it works: the compiler process, free
// memory, and the read-only pages of this program. The next work takes some milliseconds longer.
func calm(worked bool, closing func()) {
	if worked {
		closing()
		debug.FreeOSMemory()
	}
	_ = local.Shed() // they are only a little room
}
