package local_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t)
}

// at is a path of the machine as the test's own process sees it.
func (m *machine) at(p string) string { return filepath.Join(m.root, p) }

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// tree is everything below the root but the engine's own state, one line each.
func (m *machine) tree() string {
	m.t.Helper()
	var out []string
	err := filepath.WalkDir(m.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == m.at("/var/lib/fettle") {
			return errors.Join(err, fs.SkipDir)
		}
		out = append(out, inode(p, strings.TrimPrefix(p, m.root)))
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipDir) {
		m.t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func inode(p, name string) string {
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return err.Error()
	}
	line := fmt.Sprintf("%q %o %d:%d", name, st.Mode, st.Uid, st.Gid)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Size < 1<<20 {
			b, err := os.ReadFile(p)
			line += fmt.Sprintf(" %q %v", b, err)
		}
		line += fmt.Sprint(" ", st.Size, xattrs(p))
	case unix.S_IFLNK:
		to, err := os.Readlink(p)
		line += fmt.Sprintf(" -> %q %v", to, err)
	}
	return line
}

func xattrs(p string) (out []string) {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(p, buf)
	if err != nil || n == 0 {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(p, name, value)
		out = append(out, fmt.Sprintf("%s=%x %v", name, value[:max(n, 0)], err))
	}
	slices.Sort(out)
	return out
}

// refuses applies a list that must not go through, and gives the error. What
// stood before stands after, the engine's own state aside.
func (m *machine) refuses(list string, files map[string]string, words ...string) {
	m.t.Helper()
	before := m.tree()
	_, err := m.x.Apply(context.Background(), m.request(list, files), nil, executor.Options{}, nil)
	if err == nil {
		m.t.Fatalf("%s was applied", list)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			m.t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if after := m.tree(); after != before {
		m.t.Errorf("it changed from\n%s\nto\n%s", before, after)
	}
}

// cycle applies a list, hands the machine to look, and goes back to the origin:
// all is as it was.
func (m *machine) cycle(list string, files map[string]string, look func()) {
	m.t.Helper()
	before := m.tree()
	m.apply(list, files)
	if look != nil {
		look()
	}
	m.rollback(0)
	if after := m.tree(); after != before {
		m.t.Errorf("back is not as before:\n%s\nwas\n%s", after, before)
	}
}

// flags sets inode attributes, and skips where the file system has none.
func (m *machine) flags(p string, attrs int) {
	m.t.Helper()
	f, err := os.Open(m.at(p))
	m.must(err)
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, attrs); err != nil {
		m.t.Skipf("no inode attributes here: %v", err)
	}
}

func TestImmutableFileIsNotTouched(t *testing.T) {
	needRoot(t)
	for name, attr := range map[string]int{"immutable": 0x10, "append only": 0x20} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write("/etc/fixed", "old")
			m.flags("/etc/fixed", attr)
			t.Cleanup(func() { m.flags("/etc/fixed", 0) })
			m.refuses("COPY a /etc/fixed\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"}, "/etc/fixed", "immutable", "attrs=-")
			m.want("/etc/fixed", "old")
			m.want("/etc/later", "(absent)")
		})
	}
}

func TestImmutableFileIsFreedByAStepAndComesBack(t *testing.T) {
	needRoot(t)
	m := newMachine(t)
	m.write("/etc/fixed", "old")
	m.flags("/etc/fixed", 0x10)
	t.Cleanup(func() { m.flags("/etc/fixed", 0) })
	m.apply("META /etc/fixed attrs=-\n", nil)
	m.write("/etc/fixed", "foreign")
	m.rollback(0)
	if err := os.WriteFile(m.at("/etc/fixed"), nil, 0o644); !errors.Is(err, syscall.EPERM) {
		t.Errorf("it is not immutable again: %v", err)
	}
	m.want("/etc/fixed", "foreign")
}

func TestHardLinkedTargetIsRefused(t *testing.T) {
	m := newMachine(t)
	m.write("/etc/one", "shared")
	m.must(os.Link(m.at("/etc/one"), m.at("/etc/two")))
	m.refuses("COPY a /etc/one\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"}, "/etc/one", "2 hard links", "remove the other names")
	m.refuses("EDIT /etc/one line=x\n", nil, "/etc/one", "hard links")
	m.cycle("META /etc/one mode=0600\n", nil, func() { m.want("/etc/two", "shared") })
}

// Somebody who is not root may exchange what a path leads through.
func TestPlantedLinkOnTheWayIsNotFollowed(t *testing.T) {
	needRoot(t)
	m := newMachine(t)
	m.must(os.MkdirAll(m.at("/outside"), 0o777))
	m.must(os.MkdirAll(m.at("/home/mal"), 0o755))
	m.must(os.Symlink("/outside", m.at("/home/mal/conf")))
	m.must(os.Lchown(m.at("/home/mal/conf"), 1234, 1234))
	m.must(os.Chown(m.at("/home/mal"), 1234, 1234))
	for _, list := range []string{"COPY a /home/mal/conf/a\n", "MKDIR /home/mal/conf/d\n", "LINK x /home/mal/conf/l\n", "EDIT /home/mal/conf/e line=x create=true\n", "RM /home/mal/conf/r\n"} {
		m.refuses(list, map[string]string{"a": "A"}, "/home/mal/conf", "symbolic link")
	}
}

func TestPlantedLinkInThePlaceOfAFileIsReplacedAndNotFollowed(t *testing.T) {
	m := newMachine(t)
	m.write("/outside", "theirs")
	m.must(os.Symlink(m.at("/outside"), m.at("/etc/conf")))
	m.cycle("COPY a /etc/conf\n", map[string]string{"a": "A"}, func() {
		m.want("/etc/conf", "A")
		m.want("/outside", "theirs")
	})
	m.refuses("MKDIR /etc/conf\n", nil, "/etc/conf", "symbolic link", "outside")
	m.refuses("EDIT /etc/conf line=x\n", nil, "/etc/conf", "symbolic link", "outside")
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a\nb", "a b", "ünï ☃", strings.Repeat("n", 255), "\xff\xfe", "#", "-rf", "*", "a\tb\x01", `q"\`} {
		m := newMachine(t)
		p := "/srv/" + name
		m.write(p, "old "+name)
		list := fmt.Sprintf("COPY a %q\nMKDIR %q\nCOPY b %q mode=0600\nLINK %q %q\nEDIT %q block=%q content=x create=true\n",
			p, "/srv/d/"+name, "/srv/d/"+name+"/"+name, name, "/srv/l", "/srv/e", strings.ToValidUTF8(strings.NewReplacer("\n", "", "\r", "").Replace(name), "?"))
		m.must(os.Mkdir(m.at("/srv/d"), 0o755))
		m.cycle(list, map[string]string{"a": "A", "b": "B"}, func() {
			m.want(p, "A")
			m.want("/srv/d/"+name+"/"+name, "B")
		})
		m.cycle(fmt.Sprintf("RM %q\n", p), nil, nil)
	}
}

func TestNameThatIsTooLong(t *testing.T) {
	m := newMachine(t)
	m.refuses("COPY a /srv/"+strings.Repeat("n", 256)+"\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"}, "too long")
}

func TestDirectoryWhereAFileIsWanted(t *testing.T) {
	m := newMachine(t)
	m.write("/etc/conf/inside", "theirs")
	m.refuses("COPY a /etc/conf\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"}, "/etc/conf", "directory", "RM")
	m.refuses("LINK a /etc/conf\n", nil, "/etc/conf", "directory")
	m.must(os.Remove(m.at("/etc/conf/inside")))
	m.cycle("COPY a /etc/conf\n", map[string]string{"a": "A"}, func() { m.want("/etc/conf", "A") })
}

func TestMissingParent(t *testing.T) {
	m := newMachine(t)
	m.refuses("COPY a /no/such/a\n", map[string]string{"a": "A"}, "/no/such")
	m.refuses("MKDIR /no/such\nCOPY b /etc/later\n", map[string]string{"b": "B"}, "/no")
	m.refuses("COPY a /etc/hostname/a\n", map[string]string{"a": "A"}, "/etc/hostname")
}

// The mistake is shown where it was written: in the source of the step.
func TestUnknownOwnerNamesItsSource(t *testing.T) {
	m := newMachine(t)
	r := m.request("COPY a /etc/a owner=nobody-here  #@ modules/web/module.hcl:7\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"})
	_, err := m.x.Plan(context.Background(), r)
	var e *diag.ListError
	if !errors.As(err, &e) || len(e.List) != 1 {
		t.Fatalf("no diagnostic: %v", err)
	}
	ds := e.List
	if got := ds[0].Range.String(); !strings.HasPrefix(got, "modules/web/module.hcl:7") {
		t.Errorf("it is about %q", got)
	}
	if !strings.Contains(ds[0].Detail, "nobody-here") || !strings.Contains(ds[0].Detail, "USER") {
		t.Errorf("it says %q", ds[0].Detail)
	}
	m.refuses("COPY a /etc/a group=none-such\nCOPY b /etc/later\n", map[string]string{"a": "A", "b": "B"}, "none-such", "GROUP")
}

func TestMetadataOfBeforeImagesComesBack(t *testing.T) {
	needRoot(t)
	m := newMachine(t)
	p := m.at("/srv/tool")
	m.write("/srv/tool", "#!/bin/sh\n")
	m.must(os.Chown(p, 33, 44))
	m.must(unix.Chmod(p, 0o6755))
	acl := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255}
	for name, value := range map[string][]byte{"user.note": []byte("kept\x00\xff"), "system.posix_acl_access": acl, "security.capability": []byte("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")} {
		if err := unix.Setxattr(p, name, value, 0); err != nil {
			t.Skipf("no %s here: %v", name, err)
		}
	}
	m.cycle("COPY a /srv/tool mode=0600\n", map[string]string{"a": "A"}, func() {
		if got := fmt.Sprint(xattrs(p)); strings.Contains(got, "capability") || !strings.Contains(got, "user.note") {
			t.Errorf("after the copy: %s", got)
		}
	})
	m.cycle("RM /srv/tool\n", nil, nil)
	m.cycle("META /srv/tool owner=root mode=0700\n", nil, nil)
	m.write("/srv/tree/x", "x")
	m.must(os.Rename(p, m.at("/srv/tree/tool")))
	m.cycle("RM /srv/tree\n", nil, nil)
}

// A large file that is nearly all hole goes through in both directions
// with little memory and little disk.
func TestLargeSparseFileGoesThrough(t *testing.T) {
	sample.Group(t, 1, 9)
	const size = 256 << 20
	m := newMachine(t)
	m.write("/srv/image", "begin")
	m.must(os.Truncate(m.at("/srv/image"), size))
	blocks := func() int64 {
		var st unix.Stat_t
		m.must(unix.Stat(m.at("/srv/image"), &st))
		if st.Size != size {
			t.Errorf("it has %d bytes", st.Size)
		}
		return st.Blocks
	}
	if blocks() > 1024 {
		t.Skip("this file system keeps no holes")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m.cycle("COPY a /srv/image\n", map[string]string{"a": "small"}, func() { m.want("/srv/image", "small") })
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 128<<20 {
		t.Errorf("it took %d MiB of memory in all", got>>20)
	}
	if got := blocks(); got > 1024 {
		t.Errorf("the holes are filled: %d blocks", got)
	}
}

// newState is a machine whose state directory a test has prepared.
func (m *machine) reopen() error {
	h, err := hostlocal.Open(m.root, hostlocal.Options{})
	m.must(err)
	m.t.Cleanup(func() { h.Close() })
	st, err := hostlocal.Open(m.at("/var/lib/fettle"), hostlocal.Options{})
	m.must(err)
	m.t.Cleanup(func() { st.Close() })
	m.x, err = local.New(h, st, local.Options{})
	return err
}

func TestNewerStateIsRefused(t *testing.T) {
	m := newMachine(t)
	m.apply("COPY a /etc/a\n", map[string]string{"a": "A"})
	format := m.at("/var/lib/fettle/format")
	if _, err := os.Stat(format); err != nil {
		t.Fatal(err)
	}
	m.must(os.WriteFile(format, []byte("99\n"), 0o600))
	before := m.tree()
	if err := m.reopen(); err == nil || !strings.Contains(err.Error(), "newer fettle") {
		t.Errorf("opened: %v", err)
	}
	if m.tree() != before {
		t.Error("it changed something")
	}
}

// journalOf is the journal of a run, whose middle a test may break.
func (m *machine) journalOf(run int) string {
	return m.at(fmt.Sprintf("/var/lib/fettle/journal/%06d.wal", run))
}

func TestCorruptJournalIsSaid(t *testing.T) {
	m := newMachine(t)
	m.apply("COPY a /etc/a\n", map[string]string{"a": "A"})
	m.apply("COPY a /etc/a\nCOPY b /etc/b\n", map[string]string{"a": "A2", "b": "B"})
	b, err := os.ReadFile(m.journalOf(2))
	m.must(err)
	b[len(b)/2] ^= 0x40
	m.must(os.WriteFile(m.journalOf(2), b, 0o600))
	m.must(m.reopen())
	before := m.tree()
	for name, do := range map[string]func() error{
		"rollback": func() error {
			_, err := m.x.Rollback(context.Background(), executor.RollbackRequest{To: 1}, nil, executor.Options{}, nil)
			return err
		},
		"show": func() error { _, err := m.x.Show(context.Background(), 2); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "journal of run 2") || !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m.tree() != before {
		t.Error("it changed something")
	}
}

// A blob whose content does not have its digest never gets to its place.
func TestWrongBlobIsRefused(t *testing.T) {
	m := newMachine(t)
	m.write("/etc/a", "old")
	l, ds := step.Parse("list", []byte("COPY a /etc/a\n"))
	m.must(ds.Err())
	if l, ds = step.Resolve(l, step.Directory{FS: fstest.MapFS{"a": {Data: []byte("good")}}}); ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	before := m.tree()
	for name, blobs := range map[string]map[string]kind.Blob{
		"other": {l[0].Blob(): {Digest: l[0].Blob(), Size: 4, Data: []byte("evil")}},
		"none":  {},
	} {
		_, err := m.x.Apply(context.Background(), executor.Request{List: l, Blobs: blobs, Repair: true}, nil, executor.Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), "/etc/a") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m.tree() != before {
		t.Error("it changed something")
	}
}
