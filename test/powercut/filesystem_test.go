package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/test/needs"
)

// filesystem is a type of file system with a size on which it works.
type filesystem struct {
	name  string
	size  int64
	mkfs  []string // the device is added
	data  string   // mount options
	after []string // a command after each unmount
	// workers is how many images may be mounted at once.
	workers int
}

// The ballast alone takes 16 MiB.
var (
	ext4 = filesystem{
		name: "ext4", size: 56 << 20, data: "", workers: 2,
		mkfs: []string{"mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=4", "-E",
			"nodiscard,lazy_itable_init=0,lazy_journal_init=0"},
	}
	xfs = filesystem{
		name: "xfs", size: 300 << 20, data: "nouuid", workers: 2,
		mkfs: []string{"mkfs.xfs", "-q", "-f", "-K"},
	}
	// Clones of a btrfs are told apart by their device only, and the kernel
	// remembers the newest: one at a time, and it has to forget each.
	btrfs = filesystem{
		name: "btrfs", size: 200 << 20, data: "", workers: 1,
		mkfs:  []string{"mkfs.btrfs", "-q", "-f", "-K", "-m", "single"},
		after: []string{"btrfs", "device", "scan", "--forget"},
	}
)

// need skips the test where the machine cannot have it.
func (f filesystem) need(t testing.TB) {
	t.Helper()
	if err := Unavailable(); err != nil {
		t.Skipf("cannot cut power here: %v", err)
	}
	needs.Program(t, f.mkfs[0])
}

func (f filesystem) format(file *os.File) error {
	dev, err := Attach(file)
	if err != nil {
		return err
	}
	defer dev.Close()
	return command(append(f.mkfs[:len(f.mkfs):len(f.mkfs)], dev.Name())...)
}

// mount mounts a disk image. Unmounting frees the loop device too.
func (f filesystem) mount(file *os.File, dir string) error {
	dev, err := Attach(file)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := unix.Mount(dev.Name(), dir, f.name, unix.MS_NOATIME, f.data); err != nil {
		return fmt.Errorf("cannot mount a %s: %w", f.name, err)
	}
	return nil
}

func (f filesystem) unmount(dir string) error {
	err := unix.Unmount(dir, 0)
	// A process that another test is about to start has our files open until
	// it has become the program.
	for deadline := time.Now().Add(time.Minute); err == unix.EBUSY &&
		time.Now().Before(deadline); err = unix.Unmount(dir, 0) {
		runtime.Gosched()
	}
	if err != nil {
		return fmt.Errorf("cannot unmount a %s: %w", f.name, err)
	}
	if f.after == nil {
		return nil
	}
	return command(f.after...)
}

func command(argv ...string) error {
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return nil
}

// logged is a mounted file system of which every write is logged.
type logged struct {
	fs   filesystem
	disk *Disk
	dir  string
	on   bool
}

// newLogged makes one; with content on it unless that is nil.
func newLogged(t testing.TB, f filesystem, content *os.File) *logged {
	t.Helper()
	serving, dir := t.TempDir(), t.TempDir()
	var disk *Disk
	var err error
	if content == nil {
		disk, err = NewDisk(serving, f.size)
	} else {
		disk, err = serve(serving, f.size, content)
	}
	must(t, err)
	l := &logged{fs: f, disk: disk, dir: dir}
	t.Cleanup(func() {
		l.unmount(t)
		if err := disk.Close(); err != nil {
			t.Errorf("cannot end a disk: %v", err)
		}
	})
	file, err := os.OpenFile(filepath.Join(serving, "disk"), os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	if content == nil {
		must(t, f.format(file))
	}
	must(t, f.mount(file, dir))
	l.on = true
	return l
}

func (l *logged) unmount(t testing.TB) {
	t.Helper()
	if !l.on {
		return
	}
	l.on = false
	if err := l.fs.unmount(l.dir); err != nil {
		t.Error(err)
	}
}

// content copies what the disk holds now.
func (l *logged) content(t testing.TB) *os.File {
	t.Helper()
	m, err := NewImage(l.fs.size, l.disk.content, nil)
	must(t, err)
	f, err := m.Cut(0, None, 0)
	must(t, err)
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
