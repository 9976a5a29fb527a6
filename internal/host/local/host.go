// Package local is the driver for the local host, or for another root on it.
//
//	h, err := local.Open("/", local.Options{})
//	if err != nil { … }
//	defer h.Close()
//	st, err := h.Lstat("/etc/motd")
//
// The kernel resolves paths inside the root (openat2), so that neither ".." nor a link leads out. A
// link in a path is followed only if the link and its directory belong to root. All operations are
// then relative to the parent directory's descriptor, and operations on metadata use the inode's
// own descriptor.
//
// Without root privileges and on a root other than "/", the driver acts as if it were root. It
// shows the caller's own uid and gid as 0, and changing the owner of a file to 0 gives it to the
// caller. Files of other owners cannot be created in this case. The driver needs Linux 5.10 or
// newer and a mounted /proc.
package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// Options are the settings of a Host. The zero value is usable.
type Options struct {
	// Count is called before each mutating operation; see host.OperationHook.
	Count host.OperationHook
	// Debs is the directory, as a path of the host, for packages that an undo needs;
	// /var/lib/fettle/debs if it is empty.
	Debs string
	// PackageLockWait is how long a change of packages waits for another process that holds the
	// package lock; 10 minutes if 0.
	PackageLockWait time.Duration
	// Unsynced selects the syncs to omit, by operation and path; nil omits none. It is for programs
	// that demonstrate the data loss without them.
	Unsynced func(op, path string) bool
}

// Host is one root on the local host. It is safe for concurrent use.
type Host struct {
	*resolver
	count    host.OperationHook
	skips    func(op, path string) bool
	debs     string
	lockWait time.Duration // for the package lock; 0 is lockLimit
	runs     runs
	svc      units
}

var _ host.Host = (*Host)(nil)

// Open opens the root, an existing directory; "/" is the local host itself. It changes nothing. The
// caller must close the Host.
func Open(root string, opts Options) (*Host, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("cannot open root %q: %w", root, err)
	}
	fd, err := openRetry(unix.AT_FDCWD, abs, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open root %q: %w", abs, err)
	}
	h := &Host{resolver: &resolver{root: abs, rootFD: fd, who: newOwner(abs)},
		count: opts.Count, skips: opts.Unsynced, debs: opts.Debs, lockWait: opts.PackageLockWait}
	h.svc.h = h
	if err := h.checkKernel(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return h, nil
}

// checkKernel fails early with the reason if a missing feature would make every operation fail.
func (h *Host) checkKernel() error {
	fd, err := again(func() (int, error) {
		return unix.Openat2(h.rootFD, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveFlags})
	})
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("cannot open root %q: this kernel has no openat2; use Linux 5.10 or newer: %w", h.root,
			host.ErrUnsupported)
	}
	if err != nil {
		return fmt.Errorf("cannot open root %q: %w", h.root, err)
	}
	_ = unix.Close(fd)
	if _, err := os.Lstat("/proc/self/fd"); err != nil {
		return fmt.Errorf("cannot open root %q: /proc is not mounted; mount it first: %w", h.root, host.ErrUnsupported)
	}
	return nil
}

// Close releases the descriptors. The Host is of no use afterwards.
func (h *Host) Close() error {
	h.dirs.dropAll()
	h.svc.close()
	return unix.Close(h.rootFD)
}

// Root is the directory that is the host's "/".
func (h *Host) Root() string { return h.root }

// op announces a mutating operation.
func (h *Host) op(name, path string) error {
	if h.count == nil {
		return nil
	}
	return h.count(name, path)
}

// unsynced reports whether to omit a sync.
func (h *Host) unsynced(op, path string) bool { return h.skips != nil && h.skips(op, path) }

// failed maps an errno to the contract of package host. ENOTEMPTY must not remain an errno, because
// it would count as fs.ErrExist.
func failed(what, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOTEMPTY):
		return fmt.Errorf("cannot %s %q: %w", what, path, host.ErrNotEmpty)
	case errors.Is(err, unix.ENOTDIR) && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot %s %q: %w (%w)", what, path, err, fs.ErrNotExist)
	}
	return fmt.Errorf("cannot %s %q: %w", what, path, err)
}
