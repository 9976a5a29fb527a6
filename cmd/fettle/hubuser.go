package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"fettle.dev/fettle/internal/fleet/owner"
	"fettle.dev/fettle/internal/host/local"
)

// giveHub gives the directory of a hub to a user, see owner.Give.
func giveHub(dir, name string) (int, error) {
	u, err := lookupUser(name)
	if err != nil {
		return 0, err
	}
	return onHost(func(h *local.Host) (int, error) { return owner.Give(h, dir, u) })
}

// newHubAs makes the directory of a new hub for a user, and continues as this user. If the
// directory has a hub, it does nothing: the caller refuses then.
func newHubAs(dir, name string) error {
	u, err := lookupUser(name)
	if err != nil || os.Geteuid() == int(u.UID) {
		return err
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("cannot become the user %s: only root can", name)
	}
	if _, err := os.Lstat(filepath.Join(dir, "hub.json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := giveHub(dir, name); err != nil {
		return err
	}
	return become(u)
}

// runHubAs continues as the owner of the directory of a hub, if root runs it. The owner gets the
// directory of the socket, which only root can make. systemd must not run a hub as root.
func runHubAs(dir, socket string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return nil // the hub reports that it has no directory
	}
	if st.Uid == 0 {
		return refuseRoot(dir)
	}
	u := owner.User{Name: strconv.Itoa(int(st.Uid)), UID: st.Uid, GID: st.Gid}
	if err := os.Mkdir(filepath.Dir(socket), 0o755); err == nil {
		err = os.Chown(filepath.Dir(socket), int(u.UID), int(u.GID))
		if err != nil {
			return err
		}
	}
	return become(u)
}

// refuseRoot refuses to run as root as the main process of a service.
func refuseRoot(dir string) error {
	if os.Getenv("SYSTEMD_EXEC_PID") != strconv.Itoa(os.Getpid()) {
		return nil
	}
	return fmt.Errorf("cannot run the hub in %s as a service of root: %w", dir, owner.ErrRoot)
}
