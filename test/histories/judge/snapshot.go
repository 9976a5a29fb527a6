package judge

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Leaf is the object at one path. The zero value means that the path is absent.
type Leaf struct {
	Type     byte // f, d, l, or o for other types
	Mode     uint32
	UID, GID uint32
	Mtime    int64  // of files and links, in nanoseconds
	Data     string // content of a file, target of a link
	Xattrs   string
	Links    string // other names of the same file or link in this tree
}

// Tree contains all objects below a root, by path.
type Tree map[string]Leaf

// Take reads all objects below a root, except the trees in skip.
func Take(root string, skip ...string) (Tree, error) {
	t, names := Tree{}, map[uint64][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(p, root)
		if err != nil || rel == "" {
			return err
		}
		if slices.Contains(skip, rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		l, inode, err := read(p)
		if l.Type == 'f' || l.Type == 'l' {
			names[inode] = append(names[inode], rel)
		}
		t[rel] = l
		return err
	})
	for _, same := range names {
		for i, p := range same {
			if l := t[p]; len(same) > 1 {
				l.Links = strings.Join(slices.Delete(slices.Clone(same), i, i+1), " ")
				t[p] = l
			}
		}
	}
	return t, err
}

func read(p string) (Leaf, uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return Leaf{}, 0, err
	}
	l := Leaf{Type: 'o', Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		var b []byte
		b, err = os.ReadFile(p)
		l.Type, l.Data, l.Mtime = 'f', string(b), st.Mtim.Nano()
	case unix.S_IFDIR:
		l.Type = 'd'
	case unix.S_IFLNK:
		l.Type, l.Mode, l.Mtime = 'l', 0, st.Mtim.Nano()
		l.Data, err = os.Readlink(p)
	}
	if l.Type == 'f' || l.Type == 'd' {
		l.Xattrs = xattrs(p)
	}
	return l, st.Ino, err
}

func xattrs(p string) string {
	buf, value := make([]byte, 1024), make([]byte, 1024)
	n, err := unix.Llistxattr(p, buf)
	if err != nil || n == 0 {
		return ""
	}
	var out []string
	for _, name := range strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if m, err := unix.Lgetxattr(p, name, value); err == nil {
			out = append(out, fmt.Sprintf("%s=%q", name, value[:m]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// String describes a leaf in one line.
func (l Leaf) String() string {
	if l.Type == 0 {
		return "nothing"
	}
	s := fmt.Sprintf("%c %04o %d:%d", l.Type, l.Mode, l.UID, l.GID)
	if l.Type != 'd' {
		s += fmt.Sprintf(" %q", l.Data)
	}
	if l.Type != 'd' {
		s += fmt.Sprintf(" at %d", l.Mtime)
	}
	if l.Xattrs != "" {
		s += " " + l.Xattrs
	}
	if l.Links != "" {
		s += " linked to " + l.Links
	}
	return s
}

// Differ returns the paths at which two trees differ, sorted.
func Differ(a, b Tree) []string {
	var out []string
	for p, l := range a {
		if b[p] != l {
			out = append(out, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// BehindLink reports whether a parent of a path is a symbolic link.
func (t Tree) BehindLink(p string) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if t[d].Type == 'l' {
			return true
		}
	}
	return false
}

// below reports whether p is dir or below it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}
