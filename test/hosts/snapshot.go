package hosts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Snapshot is everything about a host that a configuration manager could
// change, as lines of text that can be compared. The keys are a subject and a
// name: "file /etc/hosts", "passwd www-data", "package nginx", "unit
// nginx.service", "mtime /etc/hosts".
type Snapshot map[string]string

// Snapshot records the host's file tree (type, mode, owner, extended
// attributes, content, mtime), accounts, packages and, of a host that is on,
// units. It follows no mount but the host's /tmp.
func (h *Host) Snapshot(t testing.TB) Snapshot {
	t.Helper()
	s := Snapshot{}
	root := h.root()
	leader, err := h.leader()
	on := err == nil
	if on {
		root = inside(leader, "/") + "/"
	}
	if err := s.addTree(root); err != nil {
		t.Fatalf("cannot take a snapshot of %s: %v", h.Name, err)
	}
	if err := errors.Join(s.addAccounts(root), s.addPackages(root)); err != nil {
		t.Fatalf("cannot take a snapshot of %s: %v", h.Name, err)
	}
	if on {
		s.addUnits(h.Run(t, "systemctl", "list-unit-files", "--no-legend", "--plain", "--full"),
			h.Run(t, "systemctl", "list-units", "--all", "--no-legend", "--plain", "--full"))
	}
	return s
}

// addTree adds the tree below root. It records directories on other file systems, but does not enter
// them.
func (s Snapshot) addTree(root string) error {
	var top unix.Stat_t
	if err := unix.Stat(root, &top); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that was removed meanwhile
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.Join("/", rel)
		var stat unix.Stat_t
		err = unix.Lstat(path, &stat)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && stat.Dev != top.Dev && name != "/tmp" {
			s["file "+name] = "mount"
			return fs.SkipDir
		}
		return s.addFile(path, name, &stat)
	})
}

// addFile adds one entry of the tree.
func (s Snapshot) addFile(path, name string, stat *unix.Stat_t) error {
	content, err := describe(path, stat)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	attrs, err := xattrs(path)
	if err != nil {
		return err
	}
	s["file "+name] = fmt.Sprintf("%s mode=%04o owner=%d:%d%s", content, stat.Mode&0o7777, stat.Uid, stat.Gid, attrs)
	s["mtime "+name] = fmt.Sprintf("%d.%09d", stat.Mtim.Sec, stat.Mtim.Nsec)
	return nil
}

// describe returns type and content of a file.
func describe(path string, stat *unix.Stat_t) (string, error) {
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return digest(path)
	case unix.S_IFLNK:
		to, err := os.Readlink(path)
		return fmt.Sprintf("symlink to=%q", to), err
	case unix.S_IFDIR:
		return "directory", nil
	case unix.S_IFCHR:
		return fmt.Sprintf("char-device dev=%d:%d", unix.Major(stat.Rdev), unix.Minor(stat.Rdev)), nil
	case unix.S_IFBLK:
		return fmt.Sprintf("block-device dev=%d:%d", unix.Major(stat.Rdev), unix.Minor(stat.Rdev)), nil
	case unix.S_IFIFO:
		return "fifo", nil
	case unix.S_IFSOCK:
		return "socket", nil
	}
	return "", fmt.Errorf("cannot tell the type of %s", path)
}

// digest describes a regular file by its content. O_NONBLOCK keeps a fifo that
// took its place from blocking us.
func digest(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return fmt.Sprintf("regular size=%d sha256=%x", n, h.Sum(nil)), err
}

// xattrs returns the extended attributes of a file, ACLs and capabilities
// among them, sorted by name.
func xattrs(path string) (string, error) {
	names, err := grow(func(buf []byte) (int, error) { return unix.Llistxattr(path, buf) })
	if err != nil {
		return "", fmt.Errorf("cannot list the attributes of %s: %w", path, err)
	}
	if len(names) == 0 {
		return "", nil
	}
	list := strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
	slices.Sort(list)
	var b strings.Builder
	for _, name := range list {
		value, err := grow(func(buf []byte) (int, error) { return unix.Lgetxattr(path, name, buf) })
		if err != nil {
			return "", fmt.Errorf("cannot read attribute %s of %s: %w", name, path, err)
		}
		fmt.Fprintf(&b, " xattr:%s=%x", name, value)
	}
	return b.String(), nil
}

// grow calls read first for the size and then with a buffer of that size, as the attribute calls
// require. Missing attributes and files give an empty result.
func grow(read func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := read(nil)
		if absent(err) || err == nil && size == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size)
		n, err := read(buf)
		switch {
		case err == nil:
			return buf[:n], nil
		case absent(err):
			return nil, nil
		case err != unix.ERANGE:
			return nil, err
		}
	}
}

func absent(err error) bool {
	return err == unix.ENOTSUP || err == unix.ENOENT || err == unix.ENODATA
}
