package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// The inode attributes of linux/fs.h that users set with chattr, without attributes that describe
// how the file system stores the file.
const (
	flagCompress    = 0x4
	flagSync        = 0x8
	flagImmutable   = 0x10
	flagAppend      = 0x20
	flagNoDump      = 0x40
	flagNoAtime     = 0x80
	flagNoCompress  = 0x400
	flagJournalData = 0x4000
	flagDirSync     = 0x10000
	flagTopDir      = 0x20000
	flagNoCOW       = 0x800000
	flagProjInherit = 0x20000000

	settable = flagCompress | flagSync | flagImmutable | flagAppend | flagNoDump | flagNoAtime |
		flagNoCompress | flagJournalData | flagDirSync | flagTopDir | flagNoCOW | flagProjInherit
)

// Attrs implements host.Reader.
func (h *Host) Attrs(path string) (uint32, error) {
	p, err := h.reading("read flags of", path)
	if err != nil {
		return 0, err
	}
	defer p.done()
	n, err := h.nodeAt(p, path)
	if err != nil {
		return 0, err
	}
	defer n.Close()
	attrs, err := n.attrs()
	return attrs & settable, err
}

// attrs reads all flags, 0 for an inode that cannot have flags.
func (n *node) attrs() (flags uint32, err error) {
	err = n.withReal(func(fd int) error {
		v, err := again(func() (int, error) { return unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS) })
		flags = uint32(v)
		return err
	})
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, host.ErrUnsupported) {
		return 0, nil
	}
	return flags, failed("read flags of", n.path, err)
}

func (n *node) SetAttrs(attrs uint32) error {
	if err := n.begin(host.OpSetAttrs); err != nil {
		return err
	}
	old, err := n.attrs()
	if err != nil {
		return err
	}
	if attrs &= settable; old&settable == attrs {
		return nil
	}
	err = n.withReal(func(fd int) error {
		return whole(func() error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(old&^settable|attrs)) })
	})
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
		err = fmt.Errorf("the file system has no such flags: %w", host.ErrUnsupported)
	}
	return failed("set flags of", n.path, err)
}

// withReal calls use with a descriptor that ioctl accepts. It opens only regular files and
// directories, because opening any other file can have an effect or block.
func (n *node) withReal(use func(fd int) error) error {
	if !n.opath {
		return use(n.fd)
	}
	st, err := n.Stat()
	if err != nil {
		return err
	}
	if st.Type != image.Regular && st.Type != image.Directory {
		return fmt.Errorf("a %s has no flags: %w", st.Type, host.ErrUnsupported)
	}
	fd, err := openRetry(unix.AT_FDCWD, n.proc(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}
