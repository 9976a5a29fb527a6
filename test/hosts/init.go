package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// worldInit is process 1 of the world: it makes the mounts private, starts the tests, reaps orphans
// and returns the exit code of the tests. When it ends, the kernel kills all other processes of the
// world.
func worldInit() (int, error) {
	if err := mountWorld(os.Getenv(envWorld)); err != nil {
		return 0, err
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("cannot bring up the world's loopback: %w: %s", err, out)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env:   append(os.Environ(), envStage+"="+stageTests),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return 0, fmt.Errorf("cannot start the tests in the world: %w", err)
	}
	return reapUntil(pid)
}

// mountWorld gives the world its own /proc and an empty /run, which holds the
// names of network namespaces and the sockets of systemd-nspawn.
func mountWorld(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make the world's mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount the world's /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("cannot mount the world's /run: %w", err)
	}
	if err := os.Mkdir("/run/netns", 0o755); err != nil {
		return err
	}
	return mountUppers(dir)
}

// overlayMagic is the f_type that statfs(2) reports for overlayfs.
const overlayMagic = 0x794c7630

// mountUppers stores the files of hosts on a tmpfs if the cache itself is on an overlay, as inside a
// container: an overlay cannot be the upper layer of another overlay.
func mountUppers(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("cannot examine %s: %w", dir, err)
	}
	if fs.Type != overlayMagic {
		return nil
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("cannot mount a tmpfs on %s: %w", dir, err)
	}
	return nil
}

// reapUntil reaps children until pid has ended and returns its exit code,
// 128 and the signal's number if a signal ended it.
func reapUntil(pid int) (int, error) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("cannot wait for the tests: %w", err)
		case got == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case got == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// enterAndExec moves this process into the cgroup named group in every
// hierarchy and then becomes argv. systemd-nspawn puts its host's processes
// below the cgroup that it was started in.
func enterAndExec(group string, argv []string) error {
	for _, root := range cgroupRoots() {
		procs := filepath.Join(root, group, "cgroup.procs")
		if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
			return fmt.Errorf("cannot enter the cgroup: %w", err)
		}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("cannot find %s: %w", argv[0], err)
	}
	return fmt.Errorf("cannot execute %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}
