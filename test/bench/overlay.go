package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountable says why this process cannot mount hosts below a directory, or nil.
// It makes the mounts of this process its own.
func mountable(base string) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root")
	}
	here, err1 := os.Readlink("/proc/self/ns/mnt")
	parent, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if here == parent {
		return errors.New("this host does not allow private mounts")
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot have mounts of its own: %w", err)
	}
	try := filepath.Join(base, "try")
	if err := mountHost(try); err != nil {
		return err
	}
	return unmountHost(try)
}

// mountHost makes a host at dir/root: this machine as it is, with a layer of
// its own over it, so that nothing that is done there happens here.
func mountHost(dir string) error {
	for _, sub := range []string{"layer", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	layer := filepath.Join(dir, "layer")
	if err := roomForLayer(layer); err != nil {
		return err
	}
	for _, sub := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(layer, sub), 0o755); err != nil {
			return err
		}
	}
	root := filepath.Join(dir, "root")
	data := fmt.Sprintf("lowerdir=/,upperdir=%s/upper,workdir=%s/work,redirect_dir=on", layer, layer)
	if err := syscall.Mount("overlay", root, "overlay", 0, data); err != nil {
		return fmt.Errorf("cannot mount an overlay of /: %w", err)
	}
	for _, sub := range []string{"proc", "sys", "dev"} {
		if err := syscall.Mount("/"+sub, filepath.Join(root, sub), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return errors.Join(fmt.Errorf("cannot mount /%s: %w", sub, err), unmountHost(dir))
		}
	}
	return nil
}

// roomForLayer puts the layer into memory where the file system is an overlay
// itself, which cannot be the upper layer of another.
func roomForLayer(layer string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(layer, &fs); err != nil {
		return err
	}
	if fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil
	}
	return syscall.Mount("tmpfs", layer, "tmpfs", 0, "mode=755")
}

// unmountHost takes the mounts of a host away; its layer stays.
func unmountHost(dir string) error {
	return syscall.Unmount(filepath.Join(dir, "root"), syscall.MNT_DETACH)
}
