package fidelity

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/powercut"
)

// filesystem is a type of file system and what it can hold.
type filesystem struct {
	name  string
	size  int64
	mkfs  []string // the device is added; none for one without a device
	flags bool     // it has inode flags
	lacks []string // prefixes of extended attributes that it cannot have
	ahead int64    // it may allocate as much at once, so that holes are coarser
}

var filesystems = []filesystem{
	{name: "ext4", size: 512 << 20, mkfs: []string{"mkfs.ext4", "-q", "-F", "-E", "nodiscard"}, flags: true},
	{name: "xfs", size: 512 << 20, mkfs: []string{"mkfs.xfs", "-q", "-f", "-K"}, flags: true, ahead: 64 << 10},
	{name: "btrfs", size: 512 << 20, mkfs: []string{"mkfs.btrfs", "-q", "-f", "-K"}, flags: true},
	{name: "tmpfs"},
}

func (f filesystem) has(xattr string) bool {
	for _, no := range f.lacks {
		if strings.HasPrefix(xattr, no) {
			return false
		}
	}
	return true
}

// mount gives a directory with a fresh file system.
func (f filesystem) mount(t testing.TB) string {
	t.Helper()
	if err := powercut.Unavailable(); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	dir := t.TempDir()
	source := "fidelity"
	if f.mkfs != nil {
		needs.Program(t, f.mkfs[0])
		source = f.device(t)
	}
	must(t, unix.Mount(source, dir, f.name, 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// device makes the file system on a file, which is gone with its mount.
func (f filesystem) device(t testing.TB) string {
	t.Helper()
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	must(t, err)
	defer image.Close()
	must(t, image.Truncate(f.size))
	dev, err := powercut.Attach(image)
	must(t, err)
	t.Cleanup(func() { dev.Close() })
	if out, err := exec.Command(f.mkfs[0], append(f.mkfs[1:], dev.Name())...).CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("%v: %w: %s", f.mkfs, err, out))
	}
	return dev.Name()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
