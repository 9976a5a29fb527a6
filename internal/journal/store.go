package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// DefaultBallast is the room that Open keeps for undo, in bytes.
const DefaultBallast = 16 << 20

// Open opens the state directory at the root of fsys, with the clock of the host and the default
// ballast. It creates missing files and refuses a newer format with a *NewerFormatError. It takes
// no lock and is cheap.
func Open(fsys host.FS) (*Store, error) {
	return OpenWith(fsys, Options{Ballast: DefaultBallast})
}

// OpenWith is Open with settings.
func OpenWith(fsys host.FS, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := newStore(&disk{fs: fsys, opts: opts})
	ok, err := s.checkFormat()
	if err != nil {
		return nil, err
	}
	made := false
	for _, d := range []string{"/journal", "/objects", "/state"} {
		there, err := host.Exists(fsys, d)
		if err == nil && !there {
			err, made = fsys.Mkdir(d, 0o700), true
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot prepare the state directory: %w", err)
		}
	}
	if !ok {
		err = s.pointNowhere()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the state directory: %w", err)
	}
	if !ok {
		err = s.replace("/format", []byte(strconv.Itoa(format)+"\n"))
	} else if made {
		err = fsys.SyncDir("/")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the state directory: %w", err)
	}
	return s, nil
}

// pointNowhere creates the pointer of an unused state directory, before other data is stored in it.
func (s *Store) pointNowhere() error {
	runs, err := s.usedRuns()
	if err != nil || len(runs) > 0 {
		return err
	}
	if used, err := s.holdsContent(); err != nil || used {
		return err
	}
	if there, err := host.Exists(s.fs, "/current"); err != nil || there {
		return err
	}
	return s.saveSealed("/current", current{})
}

// checkFormat reports whether the state directory has a format file.
func (s *Store) checkFormat() (bool, error) {
	b, err := s.readAll("/format", 64)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot open the state directory: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("cannot open the state directory: its file \"format\" contains %q instead of %d; if this is a state directory of fettle, write %d into the file", b, format, format)
	case n > format:
		return false, &NewerFormatError{What: "the state directory"}
	}
	return true, nil
}

// FS is the file system whose root is the state directory.
func (s *Store) FS() host.FS { return s.fs }

// Lock takes the lock of the state directory without waiting. holder is a line for users that
// another process gets with its *host.LockedError. Closing the lock releases it.
func (s *Store) Lock(holder string) (io.Closer, error) {
	l, ok := s.fs.(host.Locker)
	if !ok {
		return nil, fmt.Errorf("cannot lock the state directory: %w", host.ErrUnsupported)
	}
	return l.Lock("/lock", holder)
}

// LockHolder returns the line of the current holder of the lock, "" if it is free. It never blocks
// another process.
func (s *Store) LockHolder() (string, error) {
	l, ok := s.fs.(host.Locker)
	if !ok {
		return "", nil
	}
	return l.Holder("/lock")
}
