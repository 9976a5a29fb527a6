package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is a control group, which tells the processor time of all processes that
// were ever in it.
type group struct{ dir string }

// hierarchy is where control groups of the second version are.
func hierarchy() (string, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1], nil
		}
	}
	return "", fmt.Errorf(
		"cannot measure processor time: no control groups are mounted: mount -t cgroup2 none /sys/fs/cgroup")
}

// newGroup makes a group for the benchmark in a directory.
func newGroup(base, of string) (group, error) {
	at, err := hierarchy()
	if err != nil {
		return group{}, err
	}
	g := group{groupDir(at, base, of)}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return group{}, fmt.Errorf("cannot measure processor time: %w", err)
	}
	return g, nil
}

func (g group) open() (*os.File, error) { return os.Open(g.dir) }

// cpu is the processor time of all that ran in it.
func (g group) cpu() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var us int64
	if _, err := fmt.Sscanf(string(first), "usage_usec %d", &us); err != nil {
		return 0, fmt.Errorf("cannot read the processor time %q: %w", first, err)
	}
	return time.Duration(us) * time.Microsecond, nil
}

// processes are those that are in it.
func (g group) processes() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	var pids []int
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// end kills all that is in it and waits until nothing is. cgroup.kill is no way: it
// has the kernel kill what is started into the group later, too.
func (g group) end() error {
	return await("processes to end", func() bool {
		pids, err := g.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return err == nil && len(pids) == 0
	})
}

// remove ends all that is in it and takes it away.
func (g group) remove() error {
	if _, err := os.Stat(g.dir); err != nil {
		return nil
	}
	if err := g.end(); err != nil {
		return err
	}
	return os.Remove(g.dir)
}

// await looks until something is so, for a minute.
func await(what string, is func() bool) error {
	for range 6000 {
		if is() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("cannot wait any longer for %s", what)
}

// removeGroups takes away what the benchmark in a directory had.
func removeGroups(base string) error {
	at, err := hierarchy()
	if err != nil {
		return nil // then it had none
	}
	return errors.Join(group{groupDir(at, base, "client")}.remove(), group{groupDir(at, base, "hosts")}.remove())
}

func groupDir(at, base, of string) string { return filepath.Join(at, filepath.Base(base)+"-"+of) }
