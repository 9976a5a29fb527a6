package crash

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// leaf is what stands at one path; mtime is apart because what a run writes
// anew has the time of that run.
type leaf struct {
	text  string
	mtime int64
}

// tree is what stands below a root, by path.
type tree = map[string]leaf

// fingerprint reads everything below a root: type, owner, mode, time to the
// nanosecond, extended attributes, content.
func fingerprint(root string) (tree, error) {
	out := tree{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel := strings.TrimPrefix(p, root)
		if strings.HasPrefix(rel, "/etc/") && strings.HasSuffix(rel, "-") {
			return nil // what useradd and its kin keep of their own files
		}
		out[rel], err = look(p)
		return err
	})
	return out, err
}

func look(p string) (leaf, error) {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return leaf{}, err
	}
	text := fmt.Sprintf("%o %d:%d", st.Mode, st.Uid, st.Gid)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		b, err := readAny(p, st.Mode)
		if err != nil {
			return leaf{}, err
		}
		sum := sha256.Sum256(b)
		text += fmt.Sprintf(" %d %s", len(b), hex.EncodeToString(sum[:8]))
	case unix.S_IFLNK:
		to, err := os.Readlink(p)
		if err != nil {
			return leaf{}, err
		}
		text += " -> " + to
	}
	x, err := xattrs(p)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return leaf{text + x, 0}, err
	}
	return leaf{text + x, st.Mtim.Nano()}, err
}

// readAny reads a file that its mode may hide from its owner.
func readAny(p string, mode uint32) ([]byte, error) {
	b, err := os.ReadFile(p)
	if errors.Is(err, fs.ErrPermission) {
		return []byte(fmt.Sprintf("hidden by mode %o", mode)), nil
	}
	return b, err
}

func xattrs(p string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(p, buf)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	slices.Sort(names)
	text := ""
	for _, name := range names {
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(p, name, value)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" %s=%q", name, value[:n])
	}
	return text, nil
}

// differs lists where got is not want. A time counts where the leaf is also in
// kept with the same text: what a run did not change keeps its time.
func differs(got, want, kept tree) []string {
	all := map[string]bool{}
	for k := range got {
		all[k] = true
	}
	for k := range want {
		all[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		g, w := got[k], want[k]
		timed := kept[k].text == w.text && w.text != ""
		if g.text != w.text || timed && g.mtime != kept[k].mtime {
			out = append(out, fmt.Sprintf("%s is %q at %d, want %q at %d", k, g.text, g.mtime, w.text, w.mtime))
		}
	}
	return out
}

// copyTree copies a directory as cp -a does.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cannot copy %s: %v\n%s", from, err, out)
	}
}

func killed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	ws, ok := e.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}
