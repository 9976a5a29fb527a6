package powercut

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// past is when everything of the origin was changed last, in seconds. Of later
// times a tree says only that they are later: what fettle writes twice is
// written at two times.
const past = 1_000_000_000

// tree is what a directory holds, by path: a line for each.
type tree map[string]string

// shared are files that fettle changes in parts only, and never owns: their
// time tells nothing.
var shared = map[string]bool{"etc/edit.conf": true, "etc/passwd": true, "etc/group": true, "etc/shadow": true,
	"etc/gshadow": true}

// litter is what useradd and groupadd leave: backups always, and what they were
// working with when the power goes while one of them runs.
var litter = regexp.MustCompile(`^etc/(passwd|shadow|group|gshadow)(-|\+|\.lock|\.[0-9]+)$`)

func foreign(rel string) bool { return litter.MatchString(rel) || rel == "etc/.pwd.lock" }

func readTree(root string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || foreign(rel) {
			return err
		}
		t["/"+rel], err = describe(p, shared[rel])
		return err
	})
	return t, err
}

func describe(p string, shared bool) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return "", err
	}
	what, err := content(p, &st, shared)
	if err != nil {
		return "", err
	}
	attrs, err := xattrs(p)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s mode=%04o owner=%d:%d%s", what, st.Mode&0o7777, st.Uid, st.Gid, attrs), nil
}

// content is type, content and, of what is no directory, the time. A directory
// changes its time with every temporary in it.
func content(p string, st *unix.Stat_t, shared bool) (string, error) {
	when := "later"
	if shared {
		when = "any"
	} else if st.Mtim.Sec < past+past/4 {
		when = fmt.Sprintf("%d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "dir", nil
	case unix.S_IFLNK:
		to, err := os.Readlink(p)
		return fmt.Sprintf("link to=%q", to), err
	case unix.S_IFREG:
		b, err := os.ReadFile(p)
		return fmt.Sprintf("file size=%d links=%d sha256=%.12x time=%s", len(b), st.Nlink, sha256.Sum256(b), when), err
	}
	return fmt.Sprintf("node type=%o rdev=%d time=%s", st.Mode&unix.S_IFMT, st.Rdev, when), nil
}

func xattrs(p string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(p, buf)
	if err != nil {
		return "", err
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		n, err := unix.Lgetxattr(p, name, buf)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, " %s=%x", name, buf[:n])
	}
	return b.String(), nil
}

// differences are the lines in which a tree is not in sync, at most ten.
func (t tree) differences(want tree) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if got, ok := t[p]; !ok {
			out = append(out, p+" is missing")
		} else if got != want[p] {
			out = append(out, fmt.Sprintf("%s\n    is  %s\n    not %s", p, got, want[p]))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(t)) {
		if _, ok := want[p]; !ok {
			out = append(out, p+" is too many: "+t[p])
		}
	}
	if len(out) > 10 {
		out = append(out[:10], fmt.Sprintf("and %d more", len(out)-10))
	}
	return out
}

func (t tree) same(want tree) bool { return maps.Equal(t, want) }

// torn are the paths that are neither as in one tree nor as in the other.
func (t tree) torn(one, other tree) []string {
	all := maps.Clone(t)
	maps.Copy(all, one)
	maps.Copy(all, other)
	var out []string
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if t[p] != one[p] && t[p] != other[p] {
			out = append(out, fmt.Sprintf("%s\n    is       %q\n    not old  %q\n    not new  %q", p, t[p], one[p], other[p]))
		}
	}
	return out
}

// age gives a path, and all below, the time of the past; each its own fraction.
func age(root string) error {
	n := 0
	return filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		n++
		ts := unix.Timespec{Sec: past, Nsec: int64(n) * 1001}
		err = unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
		if err == syscall.ENOENT {
			return nil
		}
		return err
	})
}
