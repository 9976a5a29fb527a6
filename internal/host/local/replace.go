package local

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Become ends this program and begins another in the same process. It comes back with an
// error only.
func Become(file string, argv, env []string) error {
	if err := syscall.Exec(file, argv, env); err != nil {
		return fmt.Errorf("cannot begin %s: %w", file, err)
	}
	return nil
}

// Beside runs a program of this machine until it ends, and ends it when this process does.
// When ctx ends it is asked to (SIGTERM), and after some patience made to. The error says
// how it ended; nil is well.
func Beside(ctx context.Context, argv, env []string, out, errs io.Writer, patience time.Duration) error {
	// The kernel ends a child with the thread that began it, so that one has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = env, out, errs, patience
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c.Run()
}
