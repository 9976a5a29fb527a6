package local

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// node is an inode with an open descriptor. If another process replaces its name, changes of
// metadata still apply to the same inode.
type node struct {
	h     *Host
	path  string
	fd    int
	opath bool // fd cannot read or write; calls use /proc/self/fd
	set   bool // metadata was set since the last sync
}

// begin counts a setter.
func (n *node) begin(op string) error {
	n.set = true
	return n.h.op(op, n.path)
}

func (n *node) Stat() (host.Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(n.fd, &st); err != nil {
		return host.Stat{}, failed("look at", n.path, err)
	}
	return n.h.toStat(&st), nil
}

func (n *node) Chown(uid, gid uint32) error {
	if err := n.begin(host.OpChown); err != nil {
		return err
	}
	return n.chown(uid, gid)
}

func (n *node) chown(uid, gid uint32) error {
	u, g, err := n.h.who.real(uid, gid)
	if err != nil {
		return failed("change the owner of", n.path, err)
	}
	return failed("change the owner of", n.path, whole(func() error {
		return unix.Fchownat(n.fd, "", u, g,
			unix.AT_EMPTY_PATH)
	}))
}

func (n *node) Chmod(mode uint32) error {
	if err := n.begin(host.OpChmod); err != nil {
		return err
	}
	return n.chmod(mode)
}

func (n *node) chmod(mode uint32) error {
	if !n.opath { // a regular file, which was opened
		return failed("change the mode of", n.path, whole(func() error { return unix.Fchmod(n.fd, mode&0o7777) }))
	}
	st, err := n.Stat()
	if err != nil {
		return err
	}
	if st.Type == image.Symlink {
		return fmt.Errorf("cannot change the mode of %q: links have no mode: %w", n.path, host.ErrUnsupported)
	}
	return failed("change the mode of", n.path, whole(func() error { return unix.Chmod(n.proc(), mode&0o7777) }))
}

func (n *node) SetTimes(atime, mtime int64) error {
	if err := n.begin(host.OpSetTimes); err != nil {
		return err
	}
	ts := []unix.Timespec{unix.NsecToTimespec(atime), unix.NsecToTimespec(mtime)}
	return failed("set the times of", n.path, whole(func() error {
		return unix.UtimesNanoAt(n.fd, "", ts,
			unix.AT_EMPTY_PATH)
	}))
}

// proc is a path that leads to the inode itself, even where it is a link.
func (n *node) proc() string { return procFD(n.fd) }

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (n *node) Close() error {
	return failed("close", n.path, unix.Close(n.fd))
}
