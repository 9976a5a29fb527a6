package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

var _ host.Locker = (*Host)(nil)

// Lock implements host.Locker with flock(2). It is not counted as an operation, because the lock
// file does not affect the host. The holder of the flock also holds an open-file-description lock,
// which other processes can query without taking it.
func (h *Host) Lock(path, holder string) (io.Closer, error) {
	p, err := h.writing("lock", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	fd, err := openRetry(p.fd, p.base, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, failed("lock", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := flock(f); err != nil {
		defer f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, &host.LockedError{Holder: holderOf(f)}
		}
		return nil, failed("lock", path, err)
	}
	if err := errors.Join(name(f, holder), unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK,
		&unix.Flock_t{Type: unix.F_WRLCK})); err != nil {
		return nil, errors.Join(failed("lock", path, err), f.Close())
	}
	return f, nil
}

// orphanLimit bounds how long a lock is waited for whose holder is dead.
const orphanLimit = 5 * time.Second

// flock takes the lock or fails at once. It waits only if the holder is dead: a child that the
// holder forked last has the lock until it runs its program.
func flock(f *os.File) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK || time.Since(began) > orphanLimit || !isDead(holderOf(f)) {
			return err
		}
	}
}

// isDead reports whether the process in a holder's line has ended.
func isDead(holder string) bool {
	m := holderProcess().FindStringSubmatch(holder)
	if m == nil {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	return err == nil && unix.Kill(pid, 0) == unix.ESRCH
}

var holderProcess = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(process ([0-9]+)\)`) })

// name writes the holder of the lock. The new line is written before the rest of the old line is
// removed, so that readers never see an empty file.
func name(f *os.File, holder string) error {
	line := strings.ReplaceAll(holder, "\n", " ") + "\n"
	if _, err := f.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(line)))
}

// Holder implements host.Locker.
func (h *Host) Holder(path string) (string, error) {
	p, err := h.writing("ask for the lock", path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer p.done()
	fd, err := openRetry(p.fd, p.base, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT {
		return "", nil
	}
	if err != nil {
		return "", failed("ask for the lock", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	ask := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &ask); err != nil || ask.Type == unix.F_UNLCK {
		return "", err
	}
	return holderOf(f), nil
}

// holderLimit is how much of a holder's line is read.
const holderLimit = 4096

func holderOf(f *os.File) string {
	b := make([]byte, holderLimit)
	n, _ := f.ReadAt(b, 0)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	if line == "" {
		return "unknown"
	}
	return line
}
