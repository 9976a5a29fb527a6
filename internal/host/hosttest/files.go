package hosttest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// paths: every operation refuses paths that are not absolute and clean.
func (s suite) paths(t *testing.T) {
	h := s.open(t)
	must(t, h.Mkdir("/d", 0o755))
	for _, p := range []string{"", "d", "/d/", "//d", "/d/../d", "/..", "/./d", "/d\x00e", "../etc"} {
		for name, do := range everyOp(h) {
			if err := do(p); err == nil {
				t.Errorf("%s(%q) succeeded", name, p)
			}
		}
	}
	if st := lstat(t, h, "/"); st.Type != image.Directory {
		t.Errorf("the root is a %s", st.Type)
	}
	if err := h.Remove("/"); err == nil {
		t.Error("the root could be removed")
	}
}

// everyOp calls each method with one path.
func everyOp(h host.Host) map[string]func(string) error {
	return map[string]func(string) error{
		"Lstat":      func(p string) error { _, err := h.Lstat(p); return err },
		"ReadDir":    func(p string) error { _, err := h.ReadDir(p); return err },
		"Readlink":   func(p string) error { _, err := h.Readlink(p); return err },
		"Open":       func(p string) error { _, err := h.Open(p); return err },
		"Xattrs":     func(p string) error { _, err := h.Xattrs(p); return err },
		"Attrs":      func(p string) error { _, err := h.Attrs(p); return err },
		"SameMount":  func(p string) error { _, err := h.SameMount(p); return err },
		"Create":     func(p string) error { _, err := h.Create(p); return err },
		"OpenAppend": func(p string) error { _, err := h.OpenAppend(p); return err },
		"OpenWrite":  func(p string) error { _, err := h.OpenWrite(p); return err },
		"OpenNode":   func(p string) error { _, err := h.OpenNode(p); return err },
		"Mkdir":      func(p string) error { return h.Mkdir(p, 0o755) },
		"Symlink":    func(p string) error { return h.Symlink("x", p) },
		"Link":       func(p string) error { return h.Link(p, "/new") },
		"LinkTo":     func(p string) error { return h.Link("/old", p) },
		"Mknod":      func(p string) error { return h.Mknod(p, image.Fifo, 0o644, 0) },
		"Rename":     func(p string) error { return h.Rename(p, "/new") },
		"RenameTo":   func(p string) error { return h.Rename("/old", p) },
		"RenameNew":  func(p string) error { return h.RenameNew(p, "/new") },
		"Remove":     func(p string) error { return h.Remove(p) },
		"SyncDir":    func(p string) error { return h.SyncDir(p) },
		"SyncFS":     func(p string) error { return h.SyncFS(p) },
	}
}

func (s suite) files(t *testing.T) {
	h := s.open(t)
	write(t, h, "/f", "hello")
	st := lstat(t, h, "/f")
	if st.Type != image.Regular || st.Mode != 0o600 || st.UID != 0 || st.GID != 0 || st.Size != 5 || st.Nlink != 1 {
		t.Errorf("a new file is %+v", st)
	}
	if _, err := h.Create("/f"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a file: %v", err)
	}
	for _, p := range []string{"/none", "/none/below", "/f/below"} {
		if _, err := h.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Lstat(%s): %v", p, err)
		}
		if _, err := h.Open(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%s): %v", p, err)
		}
		if _, err := h.OpenWrite(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("OpenWrite(%s): %v", p, err)
		}
		if err := h.Remove(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove(%s): %v", p, err)
		}
	}
	appendTwice(t, h)
	inPlace(t, h)
	readOnly(t, h)
}

func appendTwice(t *testing.T, h host.Host) {
	for _, line := range []string{"one\n", "two\n"} {
		f, err := h.OpenAppend("/log")
		must(t, err)
		_, err = f.Write([]byte(line))
		must(t, err)
		must(t, f.Sync())
		must(t, f.Close())
	}
	if got := read(t, h, "/log"); got != "one\ntwo\n" {
		t.Errorf("appended file holds %q", got)
	}
	if st := lstat(t, h, "/log"); st.Mode != 0o600 {
		t.Errorf("appended file has mode %o", st.Mode)
	}
}

func inPlace(t *testing.T, h host.Host) {
	ino := lstat(t, h, "/f").Ino
	f, err := h.OpenWrite("/f")
	must(t, err)
	_, err = f.Seek(1, io.SeekStart)
	must(t, err)
	_, err = f.Write([]byte("EL"))
	must(t, err)
	b := make([]byte, 4)
	n, err := f.ReadAt(b, 1)
	if string(b[:n]) != "ELlo" || err != nil {
		t.Errorf("ReadAt gave %q, %v", b[:n], err)
	}
	if n, err := f.ReadAt(b, 3); n != 2 || err != io.EOF {
		t.Errorf("ReadAt at the end gave %d, %v", n, err)
	}
	must(t, f.Truncate(4))
	f.StartWriteback()
	must(t, f.Close())
	if got := read(t, h, "/f"); got != "hELl" {
		t.Errorf("file written in place holds %q", got)
	}
	if lstat(t, h, "/f").Ino != ino {
		t.Error("writing in place changed the inode")
	}
}

func readOnly(t *testing.T, h host.Host) {
	f, err := h.Open("/f")
	must(t, err)
	defer f.Close()
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("a file opened for reading could be written")
	}
}

// entries: directories and other files that are not regular.
func (s suite) entries(t *testing.T) {
	h := s.open(t)
	for _, mode := range []uint32{0o777, 0o750, 0o2755, 0o1777, 0o700} {
		p := fmt.Sprintf("/d%o", mode)
		must(t, h.Mkdir(p, mode))
		if st := lstat(t, h, p); st.Mode != mode || st.Type != image.Directory {
			t.Errorf("Mkdir %o made %s %o", mode, st.Type, st.Mode)
		}
	}
	must(t, h.Mkdir("/d2755/sub", 0o755))
	if st := lstat(t, h, "/d2755/sub"); st.Mode != 0o755 {
		t.Errorf("Mkdir in a set-group-ID directory made %o", st.Mode)
	}
	if err := h.Mkdir("/d777", 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir over a directory: %v", err)
	}
	if err := h.Mkdir("/none/d", 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir without parent: %v", err)
	}
	err := h.Remove("/d2755")
	if !errors.Is(err, host.ErrNotEmpty) || errors.Is(err, fs.ErrExist) {
		t.Errorf("Remove of a full directory: %v", err)
	}
	must(t, h.Remove("/d2755/sub"))
	must(t, h.Remove("/d2755"))
	fifo(t, h)
	got, err := h.ReadDir("/")
	must(t, err)
	if want := []string{"d1777", "d700", "d750", "d777", "p"}; !slices.Equal(got, want) {
		t.Errorf("ReadDir gave %q, want %q", got, want)
	}
	if _, err := h.ReadDir("/p"); err == nil {
		t.Error("ReadDir of a fifo succeeded")
	}
	if same, err := h.SameMount("/d777"); !same || err != nil {
		t.Errorf("SameMount: %v, %v", same, err)
	}
}

// fifo: opening one must fail and not wait for a partner.
func fifo(t *testing.T, h host.Host) {
	must(t, h.Mknod("/p", image.Fifo, 0o666, 0))
	if st := lstat(t, h, "/p"); st.Type != image.Fifo || st.Mode != 0o666 {
		t.Errorf("Mknod made a %s %o", st.Type, st.Mode)
	}
	for name, open := range map[string]func(string) (host.File, error){"Open": h.Open, "OpenWrite": h.OpenWrite,
		"OpenAppend": h.OpenAppend, "Create": h.Create} {
		if _, err := open("/p"); err == nil {
			t.Errorf("%s of a fifo succeeded", name)
		}
	}
	if _, err := h.Open("/d777"); err == nil {
		t.Error("Open of a directory succeeded")
	}
	n, err := h.OpenNode("/p")
	must(t, err)
	must(t, n.Chmod(0o640))
	must(t, n.Close())
	if err := h.Mknod("/reg", image.Regular, 0o644, 0); err == nil {
		t.Error("Mknod made a regular file")
	}
}

// names: any byte but '/' and NUL, up to 255 of them.
func (s suite) names(t *testing.T) {
	h := s.open(t)
	odd := []string{" ", "a b", "new\nline", "-rf", "\xff\xfe", "…", "*", "$(id)", "..x", strings.Repeat("n", 255)}
	for _, n := range odd {
		write(t, h, "/"+n, n)
		if got := read(t, h, "/"+n); got != n {
			t.Errorf("file %q holds %q", n, got)
		}
	}
	got, err := h.ReadDir("/")
	must(t, err)
	slices.Sort(odd)
	if !slices.Equal(got, odd) {
		t.Errorf("ReadDir gave %q", got)
	}
	if _, err := h.Create("/" + strings.Repeat("n", 256)); err == nil {
		t.Error("a name of 256 bytes was accepted")
	}
	must(t, h.Symlink("\xff\n", "/zlink"))
	if target, err := h.Readlink("/zlink"); target != "\xff\n" || err != nil {
		t.Errorf("Readlink gave %q, %v", target, err)
	}
}

func (s suite) rename(t *testing.T) {
	h := s.open(t)
	write(t, h, "/a", "a")
	write(t, h, "/b", "b")
	if err := h.RenameNew("/a", "/b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("RenameNew over a file: %v", err)
	}
	must(t, h.Rename("/a", "/b"))
	if got := read(t, h, "/b"); got != "a" {
		t.Errorf("Rename left %q", got)
	}
	must(t, h.RenameNew("/b", "/c"))
	if err := h.Rename("/a", "/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Rename of nothing: %v", err)
	}
	renameDirs(t, h)
	renameRace(t, h)
}

func renameDirs(t *testing.T, h host.Host) {
	must(t, h.Mkdir("/dir", 0o755))
	must(t, h.Mkdir("/dir/sub", 0o755))
	write(t, h, "/dir/sub/f", "in")
	read(t, h, "/dir/sub/f")
	must(t, h.Rename("/dir", "/moved"))
	if _, err := h.Lstat("/dir/sub/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old path of a moved directory: %v", err)
	}
	if got := read(t, h, "/moved/sub/f"); got != "in" {
		t.Errorf("the new path of a moved directory holds %q", got)
	}
	must(t, h.Mkdir("/full", 0o755))
	write(t, h, "/full/x", "")
	if err := h.Rename("/moved", "/full"); !errors.Is(err, host.ErrNotEmpty) {
		t.Errorf("Rename over a full directory: %v", err)
	}
	if err := h.Rename("/moved", "/moved/sub/in"); err == nil {
		t.Error("a directory was moved into itself")
	}
	if err := h.Rename("/c", "/full"); err == nil {
		t.Error("a file replaced a directory")
	}
}

// renameRace: of many who take one new name, exactly one wins.
func renameRace(t *testing.T, h host.Host) {
	const n = 8
	for i := range n {
		write(t, h, fmt.Sprintf("/race%d", i), "")
	}
	results := make(chan error, n)
	for i := range n {
		go func() { results <- h.RenameNew(fmt.Sprintf("/race%d", i), "/winner") }()
	}
	won := 0
	for range n {
		err := <-results
		if err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d renames won", won)
	}
}

// sparse: data can be read back, and holes too if the host supports them.
func (s suite) sparse(t *testing.T) {
	h := s.open(t)
	f, err := h.Create("/f")
	must(t, err)
	defer f.Close()
	const size = 1 << 20
	must(t, f.Truncate(size))
	_, err = f.Seek(size/2, io.SeekStart)
	must(t, err)
	_, err = f.Write([]byte("data"))
	must(t, err)
	start, end, err := f.NextData(0)
	must(t, err)
	if start > size/2 || end < size/2+4 {
		t.Errorf("data at [%d, %d)", start, end)
	}
	if pos, err := f.Seek(0, io.SeekCurrent); pos != size/2+4 || err != nil {
		t.Errorf("NextData moved the position to %d, %v", pos, err)
	}
	for off := int64(0); ; off = end {
		if start, end, err = f.NextData(off); err != nil || start < off || (start < size && end <= start) {
			t.Fatalf("NextData(%d) = %d, %d, %v", off, start, end, err)
		}
		if start == size {
			break
		}
	}
	if start, _, err := f.NextData(size); start != size || err != nil {
		t.Errorf("NextData at the end gave %d, %v", start, err)
	}
}

func (s suite) sync(t *testing.T) {
	h := s.open(t)
	must(t, h.Mkdir("/d", 0o755))
	write(t, h, "/d/f", "x")
	must(t, h.Symlink("nowhere", "/d/l"))
	for _, p := range []string{"/", "/d"} {
		must(t, h.SyncDir(p))
	}
	for _, p := range []string{"/", "/d", "/d/f", "/d/l"} {
		must(t, h.SyncFS(p))
	}
	if err := h.SyncDir("/d/f"); err == nil {
		t.Error("SyncDir of a file succeeded")
	}
	if err := h.SyncDir("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SyncDir of nothing: %v", err)
	}
}
