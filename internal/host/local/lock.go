package local

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

var _ host.Locker = (*Host)(nil)

// Lock implements host.Locker with flock(2). It is no counted operation: the
// lock file says nothing about the host.
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
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, &host.LockedError{Holder: holderOf(f)}
		}
		return nil, failed("lock", path, err)
	}
	if err := errors.Join(f.Truncate(0), writeLine(f, holder)); err != nil {
		return nil, errors.Join(failed("lock", path, err), f.Close())
	}
	return f, nil
}

func writeLine(f *os.File, line string) error {
	_, err := f.WriteString(line + "\n")
	return err
}

func holderOf(f *os.File) string {
	b := make([]byte, 256)
	n, _ := f.ReadAt(b, 0)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	if line == "" {
		return "unknown"
	}
	return line
}
