package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockLimit = 10 * time.Minute
	lockPause = 250 * time.Millisecond
)

// Wait waits until nobody works on the packages, and says through progress who
// does.
func (p *packages) Wait(ctx context.Context, progress func(string)) error {
	return p.waitLock(ctx, progress)
}

// lockFiles are what apt and dpkg lock, in their order.
func lockFiles() []string {
	return []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/cache/apt/archives/lock"}
}

// waitLock waits until nobody works on the packages, and says through progress
// who does. It takes no lock: apt does, and waits too where somebody came first.
func (p *packages) waitLock(ctx context.Context, progress func(string)) error {
	deadline := time.Now().Add(lockLimit)
	told := ""
	for {
		who, err := p.lockHolder()
		if err != nil || who == "" {
			return err
		}
		if who != told {
			progress("for the package lock, held by " + who)
			told = who
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot change packages: the package lock has been held by %s for %s; end it or wait for it, then run fettle again", who, lockLimit)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot change packages: the package lock is held by %s: %w", who, context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// lockHolder names the process that holds one of the locks, "" when none does.
func (p *packages) lockHolder() (string, error) {
	for _, path := range lockFiles() {
		pid, err := p.locked(path)
		if err != nil {
			return "", fmt.Errorf("cannot look at the package lock: %w", err)
		}
		if pid != 0 {
			return processName(pid), nil
		}
	}
	return "", nil
}

// locked gives the process that holds a lock on the file, 0 when there is none.
func (p *packages) locked(path string) (int, error) {
	pl, err := p.h.reading("look at", path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer pl.done()
	f, err := p.h.openRegular(pl, path, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	want := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &want); err != nil {
		return 0, err
	}
	if want.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(want.Pid), nil
}

// processName is "apt-get install nginx (process 123)", or as much of it as
// can be known.
func processName(pid int) string {
	if pid <= 0 {
		return "a process that cannot be seen from here"
	}
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	name := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	if err != nil || name == "" {
		return fmt.Sprintf("process %d", pid)
	}
	if len(name) > 60 {
		name = name[:60] + "…"
	}
	return fmt.Sprintf("%s (process %d)", name, pid)
}
