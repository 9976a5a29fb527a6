package mem_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
)

// class returns the properties of an error that callers can distinguish.
func class(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, host.ErrUnsafePath):
		return "unsafe"
	case errors.Is(err, host.ErrNotEmpty):
		return "not empty"
	case errors.Is(err, host.ErrUnsupported):
		return "unsupported"
	case errors.Is(err, fs.ErrExist):
		return "exist"
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprint("not exist ", host.IsNotDir(err))
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "other"
}

// dump is the tree as callers see it.
func dump(r host.Reader, dir string) string {
	names, err := r.ReadDir(dir)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v\n", dir, class(err))
	for _, name := range names {
		p := strings.TrimSuffix(dir, "/") + "/" + name
		st, err := r.Lstat(p)
		size := st.Size
		if st.Type == image.Directory {
			size = 0
		}
		target, _ := r.Readlink(p)
		fmt.Fprintf(&b, "%s %s %s %o %d:%d %d %d %q\n", p, class(err), st.Type, st.Mode, st.UID, st.GID, size, st.Nlink,
			target)
		if st.Type == image.Directory {
			b.WriteString(dump(r, p))
		}
	}
	return b.String()
}

// step draws one operation and gives it for any file system.
func step(t *rapid.T) (string, func(host.FS) error) {
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3), func(s []string) string {
		return "/" + strings.Join(s, "/")
	})
	p, q := path.Draw(t, "p"), path.Draw(t, "q")
	n := rapid.Uint32Range(0, 9).Draw(t, "n")
	onFile := func(open func(string) (host.File, error)) error {
		f, err := open(p)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte(strings.Repeat("x", int(n))))
		return errors.Join(err, f.Truncate(int64(n*3)), f.Close())
	}
	onNode := func(h host.FS) error {
		node, err := h.OpenNode(p)
		if err != nil {
			return err
		}
		return errors.Join(node.Chmod(0o4700|n), node.Chown(0, 0), node.Close())
	}
	ops := map[string]func(host.FS) error{
		"mkdir":  func(h host.FS) error { return h.Mkdir(p, 0o2750|n) },
		"create": func(h host.FS) error { return onFile(h.Create) },
		"append": func(h host.FS) error { return onFile(h.OpenAppend) },
		"write":  func(h host.FS) error { return onFile(h.OpenWrite) },
		"node":   onNode,
		"abs":    func(h host.FS) error { return h.Symlink(q, p) },
		"rel":    func(h host.FS) error { return h.Symlink(strings.Repeat("../", int(n%4))+q[1:], p) },
		"link":   func(h host.FS) error { return h.Link(q, p) },
		"fifo":   func(h host.FS) error { return h.Mknod(p, image.Fifo, 0o600|n, 0) },
		"rename": func(h host.FS) error { return h.Rename(q, p) },
		"new":    func(h host.FS) error { return h.RenameNew(q, p) },
		"remove": func(h host.FS) error { return h.Remove(p) },
		"sync":   func(h host.FS) error { return h.SyncDir(p) },
		"list":   func(h host.FS) error { _, err := h.ReadDir(p); return err },
		"open":   func(h host.FS) error { _, err := h.Open(p); return err },
	}
	name := rapid.SampledFrom([]string{"mkdir", "mkdir", "create", "append", "write", "node", "abs", "rel", "link",
		"fifo", "rename", "rename", "new", "remove", "sync", "list", "open"}).Draw(t, "op")
	return fmt.Sprintf("%s %s %s %d", name, p, q, n), ops[name]
}

// TestLikeLocal: for all operations, mem and Linux return the same results.
func TestLikeLocal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "like")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		real, err := local.Open(root, local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer real.Close()
		fake := mem.NewFS(mem.Options{})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			what, do := step(t)
			want, got := do(real), do(fake)
			if class(want) != class(got) {
				t.Fatalf("%s: Linux says %v, memory %v", what, want, got)
			}
			if want, got := dump(real, "/"), dump(fake, "/"); want != got {
				t.Fatalf("after %s Linux has\n%s\nmemory has\n%s", what, want, got)
			}
		}
	})
}
