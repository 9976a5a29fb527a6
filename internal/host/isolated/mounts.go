package isolated

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is a mount as /proc has it.
type mount struct {
	path   string
	kind   string // the type of the file system
	source string
	frozen bool // read-only already
}

// parseMounts reads mountinfo. Of several mounts at one path only the last one counts, because it
// hides the earlier ones.
func parseMounts(text string) []mount {
	var all []mount
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		if dash < 6 || len(f) < dash+4 {
			continue
		}
		m := mount{path: unescape(f[4]), kind: f[dash+1], source: unescape(f[dash+2]),
			frozen: strings.HasPrefix(f[5]+",", "ro,")}
		all = slices.DeleteFunc(all, func(o mount) bool { return o.path == m.path })
		all = append(all, m)
	}
	return all
}

// unescape reads the octal escapes of mountinfo.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// layered reports whether files below the mount are writable, so that an overlay must receive the
// writes. All other mounts are made read-only.
func (m mount) layered() bool {
	switch m.kind {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "zfs", "bcachefs", "overlay", "tmpfs", "ramfs",
		"vfat", "exfat", "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "fuse", "fuseblk":
		return !strings.HasPrefix(m.path+"/", "/sys/") // control groups
	}
	return false
}

// scratch are directories over one of which the memory of the view is mounted, which hides
// it only until the view is complete.
var scratch = [...]string{"/tmp", "/mnt", "/var", "/usr"}

// size is how much may be written in one view.
const size = "size=128m,nr_inodes=64k,mode=700"

// build creates the new root, with every mount of the host, and enters it.
func build(sockets []string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	ends := openSockets(append(sockets, socketsBelow("/run")...))
	defer closeAll(slices.Collect(maps.Values(ends)))
	// Trees must be opened before the file system in memory hides them.
	trees, err := openTrees(mounts)
	defer closeAll(trees)
	if err != nil {
		return err
	}
	at, err := mountScratch()
	if err != nil {
		return err
	}
	root := filepath.Join(at, "root")
	if err := unix.Mkdir(root, 0o755); err != nil {
		return err
	}
	for i, m := range mounts {
		if err := m.show(at, filepath.Join(root, m.path), i, trees[i]); err != nil {
			return err
		}
	}
	showSockets(root, ends)
	return pivot(root)
}

// show mounts the content of m at to.
func (m mount) show(at, to string, i, tree int) error {
	if tree < 0 {
		return nil // hidden by another mount
	}
	if m.layered() && !m.frozen {
		err := m.overlay(at, to, i, tree)
		if err == nil {
			return nil
		}
		if m.path == "/" {
			return fmt.Errorf("no overlay can be mounted over the %s of %s: %w", m.kind, m.path, err)
		}
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("%s cannot be made read-only: %w", m.path, err)
	}
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil // hidden by another mount
	}
	if err != nil {
		return fmt.Errorf("%s cannot be shown: %w", m.path, err)
	}
	return nil
}

// overlay mounts a file system with its writes in memory.
func (m mount) overlay(at, to string, i, tree int) error {
	n := strconv.Itoa(i)
	upper, work := filepath.Join(at, "upper"+n), filepath.Join(at, "work"+n)
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	for _, dir := range []string{upper, work} {
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	// The upper directory is the root of the mount.
	if err := errors.Join(unix.Chown(upper, int(st.Uid), int(st.Gid)), unix.Chmod(upper, st.Mode&0o7777)); err != nil {
		return err
	}
	lower := "/proc/self/fd/" + strconv.Itoa(tree)
	return unix.Mount(m.source, to, "overlay", 0, "lowerdir="+lower+",upperdir="+upper+",workdir="+work)
}

// openTrees returns a copy of each mount without the mounts below it, -1 for a mount that is not
// reachable. It does not mount anything.
func openTrees(mounts []mount) ([]int, error) {
	trees := make([]int, len(mounts))
	for i := range trees {
		trees[i] = -1
	}
	for i, m := range mounts {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.path,
			unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case err == nil:
			trees[i] = fd
		case m.path == "/" || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) &&
			!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EACCES):
			return trees, fmt.Errorf("the mount at %s cannot be copied: %w", m.path, err)
		}
	}
	return trees, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// mountScratch mounts the memory of the view.
func mountScratch() (string, error) {
	err := error(unix.ENOENT)
	for _, dir := range scratch {
		if err = unix.Mount("fettle", dir, "tmpfs", unix.MS_NODEV, size); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("a file system in memory cannot be mounted: %w", err)
}

// pivot makes root the only root of the thread.
func pivot(root string) error {
	err := unix.Chdir(root)
	if err == nil {
		err = unix.PivotRoot(".", ".") // the old root is then mounted over the new one
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("the root cannot be changed: %w", err)
	}
	return nil
}
