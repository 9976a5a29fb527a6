package fault

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// KillAt is a Counter that kills this process (SIGKILL: no deferred call, no
// handler) just before the n-th operation, from 1. It is for a real binary
// that a test starts.
func KillAt(n int) host.OperationHook {
	var seen atomic.Int64
	return func(string, string) error {
		if seen.Add(1) != int64(n) {
			return nil
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return fmt.Errorf("cannot kill this process: %w", err)
		}
		select {} // the signal is on its way; nothing may happen any more
	}
}

// StopAt returns a Counter that stops this process (SIGSTOP) just before the n-th operation, from
// 1, until it is continued. A test can then act on the stopped binary, or beside it, at that
// moment.
func StopAt(n int) host.OperationHook {
	var seen atomic.Int64
	return func(string, string) error {
		if seen.Add(1) != int64(n) {
			return nil
		}
		// Sent to this thread, the signal stops it before it can continue; other threads can run a
		// moment longer.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP); err != nil {
			return fmt.Errorf("cannot stop this process: %w", err)
		}
		return nil
	}
}

// Recorder is a Counter that counts operations and keeps their names. The zero
// value is ready; it is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	trace []string
}

// Count is the Counter.
func (r *Recorder) Count(op, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, op+" "+path)
	return nil
}

// N is how many operations there were.
func (r *Recorder) N() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.trace)
}

// Trace is "OP PATH" a line, for golden files.
func (r *Recorder) Trace() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.trace) == 0 {
		return ""
	}
	return strings.Join(r.trace, "\n") + "\n"
}

// Reset forgets everything.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = nil
}

// Chain calls counters in order, and stops at the first error.
func Chain(counters ...host.OperationHook) host.OperationHook {
	return func(op, path string) error {
		for _, c := range counters {
			if c == nil {
				continue
			}
			if err := c(op, path); err != nil {
				return err
			}
		}
		return nil
	}
}
