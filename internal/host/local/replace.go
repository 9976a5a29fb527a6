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

// Become replaces this program with another one in the same process. It returns only an error.
func Become(file string, argv, env []string) error {
	if err := syscall.Exec(file, argv, env); err != nil {
		return fmt.Errorf("cannot begin %s: %w", file, err)
	}
	return nil
}

// Beside runs a program of this host until it ends, and kills it when this process ends. When ctx
// ends, Beside sends SIGTERM, and SIGKILL after patience. The error describes how the program
// ended; nil means success.
func Beside(ctx context.Context, argv, env []string, out, errs io.Writer, patience time.Duration) error {
	// The kernel kills a child when its parent thread ends, so the thread must not end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env, c.Stdout, c.Stderr, c.WaitDelay = env, out, errs, patience
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c.Run()
}
