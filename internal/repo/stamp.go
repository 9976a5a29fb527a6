package repo

import (
	"encoding/binary"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamp is the result of lstat that identifies an unchanged file or directory.
type stamp struct {
	dev, ino     uint64
	mode         uint32
	size         int64
	mtime, ctime int64 // ns since 1970
}

// grain is the time after a change in which the stamp of a file is not reliable. It is longer than
// the kernel's tick and the resolution of file systems.
const grain = 20 * time.Millisecond

func stampOf(st *syscall.Stat_t) stamp {
	return stamp{uint64(st.Dev), st.Ino, st.Mode, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

func unixStamp(st *unix.Stat_t) stamp {
	return stamp{uint64(st.Dev), st.Ino, st.Mode, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// settled reports whether the stamp is reliable for all later reads. A later change is then visible
// in the change time, which no program can set.
func (s stamp) settled(now time.Time) bool { return now.UnixNano()-s.ctime >= int64(grain) }

func (s stamp) is(kind uint32) bool { return s.mode&unix.S_IFMT == kind }

func (s stamp) append(b []byte) []byte {
	le := binary.LittleEndian
	for _, v := range []uint64{s.dev, s.ino, uint64(s.size), uint64(s.mtime), uint64(s.ctime)} {
		b = le.AppendUint64(b, v)
	}
	return le.AppendUint32(b, s.mode)
}

// lstamp returns the stamp of a path; the zero stamp if it does not exist.
func lstamp(path string) (stamp, error) {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); err {
	case nil:
		return unixStamp(&st), nil
	case unix.ENOENT, unix.ENOTDIR:
		return stamp{}, nil
	default:
		return stamp{}, err
	}
}

// readRegular reads a regular file of at most most bytes, without following links. ok is false for
// any other file.
func readRegular(path string, most int64) (data []byte, ok bool) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	return data, err == nil && int64(len(data)) <= most
}
