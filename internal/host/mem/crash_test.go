package mem_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, f host.FS, path, content string, sync bool) {
	t.Helper()
	h, err := f.Create(path)
	must(t, err)
	_, err = h.Write([]byte(content))
	must(t, err)
	if sync {
		must(t, h.Sync())
	}
	must(t, h.Close())
}

// content is "-" for nothing.
func content(t *testing.T, f host.FS, path string) string {
	t.Helper()
	h, err := f.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	must(t, err)
	defer h.Close()
	b, err := io.ReadAll(h)
	must(t, err)
	return string(b)
}

// outcomes crashes many times and collects what a path holds.
func outcomes(t *testing.T, f *mem.FS, see func(*mem.FS) string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for seed := range uint64(300) {
		out[see(f.CrashClone(rand.New(rand.NewPCG(seed, 7))))] = true
	}
	return out
}

func expect(t *testing.T, got map[string]bool, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("outcomes %v, want %q", got, want)
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("outcome %q never came; came: %v", w, got)
		}
	}
}

func TestCrashReplace(t *testing.T) {
	cases := []struct {
		name             string
		syncFile, syncFS bool
		syncDir          bool
		want             []string
	}{
		{"durable rename", true, false, true, []string{"new"}},
		{"data synced, entry not", true, false, false, []string{"old", "new"}},
		{"rename without fsync", false, false, true, []string{"new", "", "n", "ne", "\x00\x00\x00"}},
		{"syncfs", false, true, true, []string{"new"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := mem.NewFS(mem.Options{})
			create(t, f, "/f", "old", false)
			must(t, f.SyncFS("/"))
			create(t, f, "/temp", "new", c.syncFile)
			if c.syncFS {
				must(t, f.SyncFS("/"))
			}
			must(t, f.Rename("/temp", "/f"))
			if c.syncDir {
				must(t, f.SyncDir("/"))
			}
			expect(t, outcomes(t, f, func(f *mem.FS) string { return content(t, f, "/f") }), c.want...)
		})
	}
}

// TestCrashRenameAtomic: a name moved between directories is in exactly one.
func TestCrashRenameAtomic(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	must(t, f.Mkdir("/a", 0o755))
	must(t, f.Mkdir("/b", 0o755))
	create(t, f, "/a/f", "x", true)
	must(t, f.SyncFS("/"))
	must(t, f.Rename("/a/f", "/b/f"))
	see := func(f *mem.FS) string { return content(t, f, "/a/f") + content(t, f, "/b/f") }
	expect(t, outcomes(t, f, see), "x-", "-x")
	must(t, f.SyncDir("/a"))
	expect(t, outcomes(t, f, see), "-x")
}

// TestCrashEntries: operations on different names are lost one by one, on one
// name only in order.
func TestCrashEntries(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	create(t, f, "/a", "a", true)
	create(t, f, "/b", "b", true)
	see := func(f *mem.FS) string { return content(t, f, "/a") + content(t, f, "/b") }
	expect(t, outcomes(t, f, see), "--", "a-", "-b", "ab")
	must(t, f.SyncFS("/"))
	must(t, f.Remove("/a"))
	create(t, f, "/a", "2", true)
	see = func(f *mem.FS) string { return content(t, f, "/a") }
	expect(t, outcomes(t, f, see), "a", "-", "2")
}

func TestCrashMetadata(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	create(t, f, "/f", "x", true)
	must(t, f.SyncFS("/"))
	n, err := f.OpenNode("/f")
	must(t, err)
	must(t, n.Chmod(0o644))
	see := func(f *mem.FS) string {
		st, err := f.Lstat("/f")
		must(t, err)
		return fmt.Sprintf("%o", st.Mode)
	}
	expect(t, outcomes(t, f, see), "600", "644")
	h, err := f.OpenWrite("/f")
	must(t, err)
	must(t, h.Chmod(0o640))
	must(t, h.Sync())
	expect(t, outcomes(t, f, see), "640")
}

func TestCrashAppend(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	h, err := f.OpenAppend("/log")
	must(t, err)
	for _, line := range []string{"one\n", "two\n"} {
		_, err = h.Write([]byte(line))
		must(t, err)
		must(t, h.Sync())
	}
	must(t, f.SyncDir("/"))
	_, err = h.Write([]byte("three\n"))
	must(t, err)
	for got := range outcomes(t, f, func(f *mem.FS) string { return content(t, f, "/log") }) {
		if !strings.HasPrefix(got, "one\ntwo\n") || len(got) > len("one\ntwo\nthree\n") {
			t.Errorf("a synced line is gone: %q", got)
		}
	}
	if got := content(t, f, "/log"); got != "one\ntwo\nthree\n" {
		t.Errorf("the original changed: %q", got)
	}
}

// TestCrashSame: the same dice give the same machine, and links stay links.
func TestCrashSame(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	for i := range 50 {
		create(t, f, fmt.Sprintf("/f%d", i), "content", false)
	}
	must(t, f.Link("/f0", "/hard"))
	list := func() string {
		c := f.CrashClone(rand.New(rand.NewPCG(3, 4)))
		names, err := c.ReadDir("/")
		must(t, err)
		var b strings.Builder
		for _, name := range names {
			st, err := c.Lstat("/" + name)
			must(t, err)
			fmt.Fprintf(&b, "%s %d %q\n", name, st.Nlink, content(t, c, "/"+name))
		}
		return b.String()
	}
	if a, b := list(), list(); a != b {
		t.Errorf("two crashes with the same dice differ:\n%s\n%s", a, b)
	}
	must(t, f.SyncFS("/"))
	c := f.CrashClone(rand.New(rand.NewPCG(3, 4)))
	if st, err := c.Lstat("/hard"); err != nil || st.Nlink != 2 {
		t.Errorf("a hard link came back as %+v, %v", st, err)
	}
}

// TestFailedSyncLoses: the data of a failed sync can be read, but no later sync makes it durable.
// Data that is written afterwards can become durable.
func TestFailedSyncLoses(t *testing.T) {
	for _, op := range []string{host.OpSync, host.OpSyncFS} {
		broken := true
		f := mem.NewFS(mem.Options{Count: func(name, _ string) error {
			if broken && name == op {
				broken = false
				return errors.New("no")
			}
			return nil
		}})
		h, err := f.Create("/f")
		must(t, err)
		_, err = h.Write([]byte("lost"))
		must(t, err)
		if h.Sync() == nil && f.SyncFS("/") == nil {
			t.Fatalf("no %s failed", op)
		}
		if op == host.OpSyncFS {
			continue // the file itself was synced before
		}
		_, err = h.Write([]byte("+kept"))
		must(t, errors.Join(err, h.Sync(), f.SyncFS("/")))
		if got := content(t, f, "/f"); got != "lost+kept" {
			t.Errorf("it reads %q", got)
		}
		got := outcomes(t, f, func(c *mem.FS) string { return content(t, c, "/f") })
		if !got["\x00\x00\x00\x00+kept"] || got["lost"] || got[""] {
			t.Errorf("a power cut leaves %v", got)
		}
	}
}
