package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// cacheDir returns the directory for base images and worlds: $FETTLE_TEST_CACHE, or fettle-test below
// $XDG_CACHE_HOME, or /var/cache/fettle-test.
func cacheDir() string {
	if dir := os.Getenv("FETTLE_TEST_CACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "fettle-test")
	}
	return "/var/cache/fettle-test"
}

// lock waits for a lock on path, and creates a missing path as an empty file. The lock ends when the
// file is closed or the process ends.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if errors.Is(err, syscall.EISDIR) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return f, nil
}

// cell is the directory of one world and the lock that marks it as in use.
type cell struct {
	dir  string
	lock *os.File
}

// newCell removes what killed worlds have left behind and makes a new directory.
// Both happen under one lock, so that a directory is never seen before its lock.
func newCell() (*cell, error) {
	worlds := filepath.Join(cacheDir(), "worlds")
	if err := os.MkdirAll(worlds, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the directory for worlds: %w", err)
	}
	guard, err := lock(filepath.Join(cacheDir(), "worlds.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	if err := sweep(worlds); err != nil {
		return nil, err
	}
	dir := filepath.Join(worlds, strconv.Itoa(os.Getpid()))
	for n := 1; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("cannot create a world: %w", err)
		}
		dir = filepath.Join(worlds, fmt.Sprintf("%d-%d", os.Getpid(), n))
	}
	held, err := lock(dir, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, err
	}
	return &cell{dir: dir, lock: held}, nil
}

// close removes the directory and the cgroups of a world that has ended.
func (c *cell) close() {
	removeWorld(c.dir)
	c.lock.Close()
}

// sweep removes the worlds that no process holds the lock of.
func sweep(worlds string) error {
	entries, err := os.ReadDir(worlds)
	if err != nil {
		return fmt.Errorf("cannot list the worlds: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(worlds, entry.Name())
		held, err := lock(dir, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		removeWorld(dir)
		held.Close()
	}
	return nil
}

// removeWorld removes the files of a world after its processes have ended. The next sweep tries again
// to remove the rest.
func removeWorld(dir string) {
	for _, root := range cgroupRoots() {
		removeCgroup(filepath.Join(root, worldGroup(dir)))
	}
	os.RemoveAll(dir)
}

// worldGroup names the cgroup of the world with the directory dir.
func worldGroup(dir string) string {
	return filepath.Join("fettle-test", filepath.Base(dir))
}
