package isolated

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A socket cannot be connected to through an overlay, so each one is shown by itself.

// listening are the paths of the sockets of this network that something is bound to.
func listening() []string {
	text, err := os.ReadFile("/proc/thread-self/net/unix")
	if err != nil {
		return nil
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 8 && strings.HasPrefix(f[7], "/") {
			paths = append(paths, strings.Join(f[7:], " "))
		}
	}
	return paths
}

// mostEntries is how many entries of a directory tree are looked through for sockets.
const mostEntries = 20_000

// socketsBelow also finds sockets of programs with their own network.
func socketsBelow(dir string) []string {
	var paths []string
	seen := 0
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if seen++; seen > mostEntries {
			return fs.SkipAll
		}
		if err != nil {
			return nil // a directory that cannot be read has no accessible sockets
		}
		if d.Type() == fs.ModeSocket {
			paths = append(paths, p)
		}
		return nil
	})
	return paths
}

// openSockets returns each path that is a socket as a mount, by its path without links.
func openSockets(paths []string) map[string]int {
	ends := map[string]int{}
	for _, p := range paths {
		dir, err := filepath.EvalSymlinks(filepath.Dir(p))
		if err != nil {
			continue
		}
		p = filepath.Join(dir, filepath.Base(p))
		if _, has := ends[p]; has {
			continue
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, p,
			unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			continue // gone, or of another view of the files
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			_ = unix.Close(fd)
			continue
		}
		ends[p] = fd
	}
	return ends
}

// showSockets mounts each socket at its path in the view. A socket that cannot be mounted refuses
// connections.
func showSockets(root string, ends map[string]int) {
	for p, fd := range ends {
		if unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}) == nil {
			_ = unix.MoveMount(fd, "", unix.AT_FDCWD, filepath.Join(root, p), unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
	}
}
