package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/apt"
)

const (
	lockLimit = 10 * time.Minute
	lockPause = 250 * time.Millisecond
)

// Packages implements host.Host.
func (h *Host) Packages() (host.Packages, error) {
	if _, err := h.lookProgram("dpkg-query", "/"); err != nil {
		return nil, fmt.Errorf("cannot use packages: there is no dpkg in %s: remove packages from the list: %w", h.root,
			host.ErrUnsupported)
	}
	return apt.New(h, apt.Options{
		Debs: h.debs, WaitLock: h.waitPackages, ListUnits: h.svc.list, ForgetFailure: h.svc.forgetFailure,
	}), nil
}

// lockFiles are the lock files of apt and dpkg, in their order.
func lockFiles() []string {
	return []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/cache/apt/archives/lock"}
}

// waitPackages waits until the locks of dpkg and apt are free, see apt.Options.
func (h *Host) waitPackages(ctx context.Context, progress func(host.Progress)) error {
	limit := h.lockWait
	if limit == 0 {
		limit = lockLimit
	}
	return h.waitFree(ctx, lockFiles(), limit, progress)
}

// waitLists waits until no process fetches apt's lists. apt-get update does not wait, and timers of
// Debian run it twice a day.
func (h *Host) waitLists(ctx context.Context, c host.Command) error {
	tool := path.Base(c.Argv[0])
	if tool != "apt-get" && tool != "apt" || !slices.Contains(c.Argv[1:], "update") {
		return nil
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	return h.waitFree(ctx, []string{"/var/lib/apt/lists/lock"}, limit, func(host.Progress) {})
}

// waitFree waits until all locks are free.
func (h *Host) waitFree(ctx context.Context, files []string, limit time.Duration, progress func(host.Progress)) error {
	deadline := time.Now().Add(limit)
	told := ""
	for {
		who, err := h.lockHolder(files)
		if err != nil || who == "" {
			return err
		}
		if who != told {
			progress(host.Progress{Text: "for the package lock, held by " + who, Waits: true})
			told = who
		}
		if time.Now().After(deadline) {
			return fmt.Errorf(
				"cannot change packages: the package lock has been held by %s for %s; end it or wait for it, then run fettle again",
				who, limit)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot change packages: the package lock is held by %s: %w", who, context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// lockHolder names the process that holds one of the locks, "" when none does.
func (h *Host) lockHolder(files []string) (string, error) {
	for _, file := range files {
		pid, held, err := h.locked(file)
		if err != nil {
			return "", fmt.Errorf("cannot examine the package lock: %w", err)
		}
		if held {
			return processName(pid), nil
		}
	}
	return "", nil
}

// locked returns the process that holds a lock on the file; 0 is a process of another namespace,
// which has no number here.
func (h *Host) locked(file string) (pid int, held bool, err error) {
	pl, err := h.reading("look at", file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer pl.done()
	f, err := h.openRegular(pl, file, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	want := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &want); err != nil {
		return 0, false, err
	}
	return int(want.Pid), want.Type != unix.F_UNLCK, nil
}

// processName is "apt-get install nginx (process 123)", or as much of it as
// can be known.
func processName(pid int) string {
	if pid <= 0 {
		return "a process outside of this container"
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
