package local

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

const (
	resolveFlags = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS
	maxLinks     = 40
	dirFlags     = unix.O_PATH | unix.O_DIRECTORY
)

// place is a name in an open directory. Its user calls done.
type place struct {
	*dir
	base string
}

func (p place) done() { p.release() }

// resolver finds paths and programs below the root of a host, and caches open directories.
type resolver struct {
	root   string
	rootFD int
	dirs   dirCache
	who    owner
}

// reading finds the place of a path, perhaps by the cache.
func (h *resolver) reading(what, path string) (place, error) {
	if err := host.CheckPath(path); err != nil {
		return place{}, err
	}
	parent, base := host.SplitPath(path)
	d, gen := h.dirs.get(parent)
	if d != nil {
		return place{d, base}, nil
	}
	if h.dirs.isGone(parent) {
		return place{}, failed(what, path, unix.ENOENT)
	}
	began := time.Now()
	d, err := h.openDir(parent)
	if err == unix.ENOENT {
		h.dirs.setGone(parent, gen, began)
	}
	if err != nil {
		return place{}, failed(what, path, err)
	}
	if !d.linked {
		h.dirs.put(parent, d, gen)
	}
	return place{d, base}, nil
}

// writing finds the place of a path as it is at this moment.
func (h *resolver) writing(what, path string) (place, error) {
	if err := host.CheckPath(path); err != nil {
		return place{}, err
	}
	if path == "/" {
		return place{}, fmt.Errorf("cannot %s %q: it is the root", what, path)
	}
	return h.fresh(what, path)
}

// fresh is writing that allows the root itself.
func (h *resolver) fresh(what, path string) (place, error) {
	if err := host.CheckPath(path); err != nil {
		return place{}, err
	}
	parent, base := host.SplitPath(path)
	d, err := h.openDir(parent)
	if err != nil {
		return place{}, failed(what, path, err)
	}
	return place{d, base}, nil
}

// changed drops cached directories at and below a path whose entry changed. Behind a link the path
// also has another name, so the whole cache is dropped.
func (h *resolver) changed(p place, path string) {
	if p.linked {
		path = "/"
	}
	h.dirs.drop(path)
}

// openDir opens a directory of the host. The kernel resolves the common case
// at once; paths with links are walked.
func (h *resolver) openDir(path string) (*dir, error) {
	d := &dir{since: time.Now(), cache: &h.dirs, refs: 1}
	how := &unix.OpenHow{Flags: dirFlags | unix.O_CLOEXEC, Resolve: resolveFlags}
	var err error
	for range 100 { // EAGAIN: a rename elsewhere raced with the lookup
		d.fd, err = unix.Openat2(h.rootFD, path, how)
		if err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	if err == unix.ELOOP || err == unix.ENAMETOOLONG {
		d.linked = true
		d.fd, err = h.walk(path)
		err = unreachable(err)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// unreachable adds fs.ErrNotExist to the error of a path with a loop of links, or with a name that is
// too long in a link. No file can exist behind such a link.
func unreachable(err error) error {
	if err == unix.ELOOP || err == unix.ENAMETOOLONG {
		return fmt.Errorf("%w (%w)", err, fs.ErrNotExist)
	}
	return err
}

// walk opens a directory name by name, and follows only safe links. The stack of descriptors
// resolves ".." in a link. It ends at the root, so that no path leads out of the root.
func (h *resolver) walk(path string) (int, error) {
	w := walker{h: h, fds: []int{h.rootFD}}
	defer w.close()
	todo := names(path)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			w.up()
			continue
		}
		target, err := w.enter(name)
		if err != nil {
			return -1, err
		}
		if strings.HasPrefix(target, "/") {
			w.top()
		}
		todo = append(names(target), todo...)
	}
	return w.take()
}

// names splits a path into the names to enter, in order.
func names(path string) []string {
	var out []string
	for _, n := range strings.Split(path, "/") {
		if n != "" && n != "." {
			out = append(out, n)
		}
	}
	return out
}

// walker holds the directories from the root down to where the walk is.
type walker struct {
	h     *resolver
	fds   []int
	at    []string // names for fds[1:], for messages
	links int
}

func (w *walker) here() int { return w.fds[len(w.fds)-1] }

func (w *walker) up() {
	if len(w.fds) > 1 {
		_ = unix.Close(w.here())
		w.fds = w.fds[:len(w.fds)-1]
		w.at = w.at[:len(w.at)-1]
	}
}

func (w *walker) top() {
	for len(w.fds) > 1 {
		w.up()
	}
}

func (w *walker) close() { w.top() }

// take returns the directory that the walk reached; the caller owns it.
func (w *walker) take() (int, error) {
	return openRetry(w.here(), ".", dirFlags, 0)
}

// enter enters a directory, or returns the target of a link with that name.
func (w *walker) enter(name string) (target string, err error) {
	fd, err := openRetry(w.here(), name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return "", err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		w.fds, w.at = append(w.fds, fd), append(w.at, name)
		return "", nil
	case unix.S_IFLNK:
		defer unix.Close(fd)
		return w.follow(name, fd, st.Uid)
	}
	_ = unix.Close(fd)
	return "", unix.ENOTDIR
}

// follow reads a link if only trusted users could have created or replaced it.
func (w *walker) follow(name string, fd int, uid uint32) (string, error) {
	if w.links++; w.links > maxLinks {
		return "", unix.ELOOP
	}
	var st unix.Stat_t
	if err := unix.Fstat(w.here(), &st); err != nil {
		return "", err
	}
	if !w.h.who.trusts(uid) || !w.h.who.trusts(st.Uid) {
		link := "/" + strings.Join(append(w.at[:len(w.at):len(w.at)], name), "/")
		return "", fmt.Errorf("%w: %q", host.ErrUnsafePath, link)
	}
	return readlink(fd, "")
}

// openRetry is openat that no signal interrupts.
func openRetry(at int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// readlink reads a link of any length.
func readlink(at int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(at, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}
