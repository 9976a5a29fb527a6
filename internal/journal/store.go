package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
)

const format = 1

// DefaultBallast is the room that Open keeps for undo, in bytes.
const DefaultBallast = 16 << 20

// Options are the settings of a Store.
type Options struct {
	// Now is the clock for records and settings; time.Now when nil.
	Now func() time.Time
	// Ballast is the size of the ballast file in bytes; 0 is none.
	Ballast int64
}

// Store is all data below one state directory. Reading needs no lock; writers must hold Lock. A
// Store is safe for concurrent use.
type Store struct {
	fs   host.FS
	opts Options

	mu sync.Mutex
	// known are objects whose content this process has written or checked:
	// after a crash, a name alone proves nothing.
	known map[string]bool
	// pending are known objects that may not be durable; true for objects that this process wrote
	// and can therefore remove.
	pending map[string]bool
	// fresh are the objects put since Open, which Collect leaves alone: the
	// journal that will name them may not be written yet.
	fresh map[string]bool
	// rooted are the object directories whose own entry is durable.
	rooted map[string]bool
	packs  packs
	// directories are the entries of /objects, when they have been read.
	directories map[string]bool
	// decoded is the state that was read last.
	decoded *decodedState
	temps   int
	notes   []string
}

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
	s := &Store{fs: fsys, opts: opts, known: map[string]bool{}, pending: map[string]bool{}, fresh: map[string]bool{}, rooted: map[string]bool{}}
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

// readAll reads a file of at most limit bytes.
func (s *Store) readAll(path string, limit int64) ([]byte, error) {
	f, err := s.fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var buf bytes.Buffer
	if st, err := f.Stat(); err == nil {
		buf.Grow(int(min(st.Size, limit)) + bytes.MinRead)
	}
	_, err = buf.ReadFrom(io.LimitReader(f, limit+1))
	b := buf.Bytes()
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("cannot read %q: it is longer than %d bytes", path, limit)
	}
	return b, err
}

// replace durably writes b to path, atomically. On a full disk it releases the ballast, because
// these files are needed to end or undo runs.
func (s *Store) replace(path string, b []byte) error {
	err := s.replaceOnce(path, b)
	if host.IsNoSpace(err) && s.ReleaseBallast() == nil {
		err = s.replaceOnce(path, b)
	}
	return err
}

func (s *Store) replaceOnce(path string, b []byte) error {
	temp := path + ".tmp"
	if err := s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.writeFile(temp, b); err != nil {
		_ = s.fs.Remove(temp)
		return err
	}
	if err := s.fs.Rename(temp, path); err != nil {
		_ = s.fs.Remove(temp)
		return err
	}
	dir, _ := host.SplitPath(path)
	return s.fs.SyncDir(dir)
}

// writeFile makes a new durable file.
func (s *Store) writeFile(path string, b []byte) error {
	f, err := s.fs.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// discard removes a file durably; a missing file is not an error.
func (s *Store) discard(path string) error {
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, _ := host.SplitPath(path)
	return s.fs.SyncDir(dir)
}
