package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns the time since the boot of this host. It also advances while the host sleeps.
func SinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil { // impossible: each Linux has the clock
		return 0
	}
	return time.Duration(t.Nano())
}

// DialIn connects to a socket in a directory that only this user can write to. The path can have any length. The error
// wraps fs.ErrNotExist if no process listens.
func DialIn(ctx context.Context, dir, name string) (io.ReadWriteCloser, error) {
	short, f, err := shortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := ownersOnly(filepath.Join(dir, name), os.ModeSocket); err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", short)
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return c, err
}

// ListenIn listens on a socket in an existing directory that only this user can write to. It calls serve for each
// connection until close is called, and close waits for all calls. It replaces the socket of an earlier process.
func ListenIn(ctx context.Context, dir, name string, serve func(context.Context, io.ReadWriteCloser)) (close func(),
	err error) {
	short, f, err := shortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := unix.Unlink(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", short)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", filepath.Join(dir, name), err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the short path ends with f
	if err := unix.Chmod(filepath.Join(dir, name), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // too many open files: they end
				time.Sleep(100 * time.Millisecond)
				continue
			}
			work.Go(func() { serve(ctx, c) })
		}
	})
	return func() { cancel(); _ = l.Close(); work.Wait() }, nil
}

// shortPath returns a path of a file in a directory that is short enough for the address of a socket. It is valid until
// the directory is closed. It is an error if another user could write to the directory.
func shortPath(dir, name string) (string, *os.File, error) {
	if err := ownersOnly(dir, os.ModeDir); err != nil {
		return "", nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())), name), f, nil
}
