package fidelity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is what stands at a path.
type entry struct {
	dir   bool
	same  string // everything that comes back, in words
	mtime string // apart, since that of a directory follows from its entries
	ctime string // apart, since nobody can set it
	ino   uint64
}

// tree is everything below a directory, by path.
type tree map[string]entry

// modifiable are the inode flags that chattr can set (linux/fs.h,
// FS_FL_USER_MODIFIABLE), but for those about how data is stored.
const modifiable = 0x000380ff &^ 0x8000

// look reads everything below root. The top itself counts too. Holes are looked
// at in units.
func look(root string, unit int64) (tree, error) {
	out := tree{}
	first := map[uint64]string{}
	var walk func(rel string) error
	walk = func(rel string) error {
		e, err := lookAt(filepath.Join(root, rel), rel, unit, first)
		if err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
		out[rel] = e
		if !e.dir {
			return nil
		}
		names, err := os.ReadDir(filepath.Join(root, rel))
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := walk(rel + "/" + n.Name()); err != nil {
				return err
			}
		}
		return nil
	}
	return out, walk("")
}

func lookAt(p, rel string, unit int64, first map[uint64]string) (entry, error) {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return entry{}, err
	}
	e := entry{
		dir: st.Mode&unix.S_IFMT == unix.S_IFDIR, ino: st.Ino,
		mtime: fmt.Sprintf("%d.%09d", st.Mtim.Sec, st.Mtim.Nsec), ctime: fmt.Sprintf("%d.%09d", st.Ctim.Sec, st.Ctim.Nsec),
	}
	content, err := lookInside(p, st, unit)
	if err != nil {
		return entry{}, err
	}
	x, err := xattrs(p)
	if err != nil {
		return entry{}, err
	}
	e.same = fmt.Sprintf("%06o %d:%d rdev=%d%s%s", st.Mode, st.Uid, st.Gid, st.Rdev, content, x)
	if !e.dir && st.Nlink > 1 {
		if first[st.Ino] == "" {
			first[st.Ino] = rel
		}
		e.same += fmt.Sprintf(" %d links, the first %q", st.Nlink, first[st.Ino])
	}
	return e, nil
}

func lookInside(p string, st unix.Stat_t, unit int64) (string, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		to, err := os.Readlink(p)
		return fmt.Sprintf(" -> %q", to), err
	case unix.S_IFREG, unix.S_IFDIR:
	default:
		return "", nil
	}
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), p)
	defer f.Close()
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil && !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EOPNOTSUPP) {
		return "", err
	}
	text := fmt.Sprintf(" flags=%x", flags&modifiable)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return text, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	data, err := segments(fd, st.Size, unit)
	return fmt.Sprintf("%s %d bytes %s in %s", text, st.Size, hex.EncodeToString(h.Sum(nil)[:6]), data), err
}

// segments tells in which units a file has data; elsewhere are holes.
func segments(fd int, size, unit int64) (string, error) {
	var out stretches
	for off := int64(0); off < size; {
		start, err := unix.Seek(fd, off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if err != nil {
			return "", err
		}
		if off, err = unix.Seek(fd, start, unix.SEEK_HOLE); err != nil {
			return "", err
		}
		out = out.add(start/unit, (off+unit-1)/unit)
	}
	return fmt.Sprint(out), nil
}

// stretches are the units of a file that have data, from and to each.
type stretches [][2]int64

func (s stretches) add(from, to int64) stretches {
	if n := len(s); n > 0 && s[n-1][1] >= from {
		s[n-1][1] = to
		return s
	}
	return append(s, [2]int64{from, to})
}

func xattrs(p string) (string, error) {
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(p, buf)
	if errors.Is(err, unix.EOPNOTSUPP) || n == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	slices.Sort(names)
	text := ""
	for _, name := range names {
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(p, name, value)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(value[:n])
		text += fmt.Sprintf(" %s=%d:%.64x:%x", name, n, value[:n], sum[:4])
	}
	return text, nil
}

// differs lists what of got is not as in want. loose tells of paths whose time is
// free.
func differs(got, want tree, loose func(string) bool) []string {
	var out []string
	for _, p := range union(got, want) {
		g, gok := got[p]
		w, wok := want[p]
		switch {
		case !gok:
			out = append(out, fmt.Sprintf("%q is gone, it was\n\t\t%s", p, w.same))
		case !wok:
			out = append(out, fmt.Sprintf("%q is new:\n\t\t%s", p, g.same))
		case g.same != w.same:
			out = append(out, fmt.Sprintf("%q was\n\t\t%s\n\tis\n\t\t%s", p, w.same, g.same))
		case g.mtime != w.mtime && !loose(p):
			out = append(out, fmt.Sprintf("%q has the time %s, it was %s (%s)", p, g.mtime, w.mtime, w.same))
		}
	}
	return out
}

// written lists what was touched at all between two looks, be it with the same.
func written(got, want tree) []string {
	var out []string
	for _, p := range union(got, want) {
		if g, w := got[p], want[p]; g.ctime != w.ctime || g.ino != w.ino {
			out = append(out, fmt.Sprintf("%q was written at %s", p, g.ctime))
		}
	}
	return out
}

func union(a, b tree) []string {
	all := map[string]bool{}
	for p := range a {
		all[p] = true
	}
	for p := range b {
		all[p] = true
	}
	return slices.Sorted(maps.Keys(all))
}
