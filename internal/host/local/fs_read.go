package local

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Lstat implements host.Reader.
func (h *Host) Lstat(path string) (host.Stat, error) {
	p, err := h.reading("look at", path)
	if err != nil {
		return host.Stat{}, err
	}
	defer p.done()
	st, err := h.statAt(p)
	return st, failed("look at", path, err)
}

func (h *Host) statAt(p place) (host.Stat, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.fd, p.base, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		return host.Stat{}, err
	}
	return h.toStat(&st), nil
}

func (h *Host) toStat(st *unix.Stat_t) host.Stat {
	uid, gid := h.who.shown(st.Uid, st.Gid)
	return host.Stat{
		Type: fileType(st.Mode), Mode: st.Mode & 0o7777, UID: uid, GID: gid, Size: st.Size,
		MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), ATime: st.Atim.Nano(),
		Ino: st.Ino, Dev: uint64(st.Dev), Nlink: uint64(st.Nlink), Rdev: uint64(st.Rdev),
	}
}

func fileType(mode uint32) image.FileType {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return image.Directory
	case unix.S_IFLNK:
		return image.Symlink
	case unix.S_IFIFO:
		return image.Fifo
	case unix.S_IFSOCK:
		return image.Socket
	case unix.S_IFCHR:
		return image.CharDev
	case unix.S_IFBLK:
		return image.BlockDev
	}
	return image.Regular
}

// ReadDir implements host.Reader.
func (h *Host) ReadDir(path string) ([]string, error) {
	p, err := h.reading("list", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	fd, err := openQuiet(p.fd, p.base, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, failed("list", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	found, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot list %q: %w", path, err)
	}
	slices.Sort(found)
	return found, nil
}

// Readlink implements host.Reader.
func (h *Host) Readlink(path string) (string, error) {
	p, err := h.reading("read link", path)
	if err != nil {
		return "", err
	}
	defer p.done()
	target, err := readlink(p.fd, p.base)
	return target, failed("read link", path, err)
}

// Open implements host.Reader.
func (h *Host) Open(path string) (host.File, error) {
	p, err := h.reading("open", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	return h.openRegular(p, path, unix.O_RDONLY)
}

// openRegular checks the type before it opens a file: opening a device can have an effect (a
// watchdog starts), and opening a fifo can block permanently.
func (h *Host) openRegular(p place, path string, flags int) (*file, error) {
	st, err := h.statAt(p)
	if err != nil {
		return nil, failed("open", path, err)
	}
	if st.Type != image.Regular {
		return nil, fmt.Errorf("cannot open %q: it is a %s, not a regular file", path, st.Type)
	}
	fd, err := openQuiet(p.fd, p.base, flags|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, failed("open", path, err)
	}
	f := h.newFile(fd, path)
	if st, err = f.Stat(); err == nil && st.Type != image.Regular {
		err = fmt.Errorf("cannot open %q: it became a %s just now", path, st.Type)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openQuiet opens without a trace in the access time where we may.
func openQuiet(at int, name string, flags int) (int, error) {
	fd, err := openRetry(at, name, flags|unix.O_NOFOLLOW|unix.O_NOATIME, 0)
	if err == unix.EPERM {
		return openRetry(at, name, flags|unix.O_NOFOLLOW, 0)
	}
	return fd, err
}

// SameMount implements host.Reader. The root counts as its own parent.
func (h *Host) SameMount(path string) (bool, error) {
	p, err := h.reading("look at the mount of", path)
	if err != nil {
		return false, err
	}
	defer p.done()
	own, err := mountID(p.fd, p.base)
	if err != nil {
		return false, failed("look at the mount of", path, err)
	}
	above, err := mountID(p.fd, "")
	return own == above, failed("look at the mount of", path, err)
}

func mountID(at int, name string) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(at, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	return st.Mnt_id, err
}
