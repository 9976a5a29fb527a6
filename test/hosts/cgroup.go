package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cgroupRoots returns the hierarchies that systemd-nspawn puts hosts in: the
// one of version 2 alone, or that of version 2 first and systemd's own of
// version 1 on a machine that mounts both. It is empty without version 2.
func cgroupRoots() []string {
	const top = "/sys/fs/cgroup"
	if exists(filepath.Join(top, "cgroup.controllers")) {
		return []string{top}
	}
	if !exists(filepath.Join(top, "unified", "cgroup.controllers")) {
		return nil
	}
	roots := []string{filepath.Join(top, "unified")}
	if exists(filepath.Join(top, "systemd", "cgroup.procs")) {
		roots = append(roots, filepath.Join(top, "systemd"))
	}
	return roots
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// freshCgroup creates an empty cgroup with the name group in every hierarchy, and removes the groups
// of an earlier boot.
func freshCgroup(group string) error {
	for _, root := range cgroupRoots() {
		removeCgroup(filepath.Join(root, group))
		if err := os.MkdirAll(filepath.Join(root, group), 0o755); err != nil {
			return fmt.Errorf("cannot create a cgroup: %w", err)
		}
	}
	return nil
}

// killCgroup kills every process in the cgroup named group at once.
func killCgroup(group string) error {
	kill := filepath.Join(cgroupRoots()[0], group, "cgroup.kill")
	err := os.WriteFile(kill, []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot kill a cgroup: %w", err)
	}
	return nil
}

// cgroupEmpty reports whether no process lives in the cgroup named group.
func cgroupEmpty(group string) bool {
	events, err := os.ReadFile(filepath.Join(cgroupRoots()[0], group, "cgroup.events"))
	return err != nil || strings.Contains(string(events), "populated 0")
}

// removeCgroup removes dir and the cgroups below it, as far as they are empty.
func removeCgroup(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			removeCgroup(filepath.Join(dir, entry.Name()))
		}
	}
	os.Remove(dir)
}
