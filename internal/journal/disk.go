package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// readAll reads a file of at most limit bytes.
func (s *disk) readAll(path string, limit int64) ([]byte, error) {
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

// writeFile makes a new durable file.
func (s *disk) writeFile(path string, b []byte) error {
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

// replace durably writes b to path, atomically. On a full disk it releases the ballast, because
// these files are needed to end or undo runs.
func (s *disk) replace(path string, b []byte) error {
	err := s.replaceOnce(path, b)
	if host.IsNoSpace(err) && s.ReleaseBallast() == nil {
		err = s.replaceOnce(path, b)
	}
	return err
}

func (s *disk) replaceOnce(path string, b []byte) error {
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

// discard removes a file durably; a missing file is not an error.
func (s *disk) discard(path string) error {
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, _ := host.SplitPath(path)
	return s.fs.SyncDir(dir)
}

func (s *disk) saveSealed(path string, v any) error {
	b, err := seal(v)
	if err == nil {
		err = s.replace(path, b)
	}
	if err != nil {
		return fmt.Errorf("cannot save %q: %w", path, err)
	}
	return nil
}

func (s *disk) loadSealed(path string, v any) error {
	b, err := s.readAll(path, maxSealed)
	if err == nil {
		err = unseal(b, v)
	}
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	return nil
}

// loadSetting reads a setting; found is false when it is not set.
func (s *disk) loadSetting(path string, v any) (found bool, err error) {
	err = s.loadSealed(path, v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// maxSealed is the most that is read of one sealed file, in bytes.
const maxSealed = 1 << 30

// ReleaseBallast frees the reserved space, so that a run can be undone on a full disk. The journal
// and the state files call it themselves on a full disk. A missing ballast is not an error.
func (s *disk) ReleaseBallast() error {
	if err := s.fs.Remove("/ballast"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// numbers lists the runs that have a file in dir, ascending.
func (s *disk) numbers(dir, suffix string) ([]int, error) {
	names, err := s.fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list the runs: %w", err)
	}
	var out []int
	for _, name := range names {
		num, ok := strings.CutSuffix(name, suffix)
		n, err := strconv.Atoi(num)
		if ok && err == nil && n > 0 && fmt.Sprintf("%06d", n) == num {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// holdsContent reports whether any object is in the store.
func (s *disk) holdsContent() (bool, error) {
	for _, dir := range []string{"/objects", packDir} {
		names, err := s.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("cannot determine whether the state directory was used before: %w", err)
		}
		if slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "tmp-") }) {
			return true, nil
		}
	}
	return false, nil
}
