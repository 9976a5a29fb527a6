package hosttest

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// nodes: metadata, by an open file and by OpenNode alike.
func (s suite) nodes(t *testing.T) {
	h := s.open(t)
	write(t, h, "/f", "x")
	must(t, h.Mkdir("/d", 0o755))
	must(t, h.Symlink("/f", "/l"))
	for _, p := range []string{"/f", "/d"} {
		n, err := h.OpenNode(p)
		must(t, err)
		s.metadata(t, h, p, n)
		must(t, n.Close())
	}
	f, err := h.OpenWrite("/f")
	must(t, err)
	s.metadata(t, h, "/f", f)
	must(t, f.Close())
	s.linkNode(t, h)
	if _, err := h.OpenNode("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenNode of nothing: %v", err)
	}
}

func (s suite) metadata(t *testing.T, h host.Host, p string, n host.Node) {
	for _, mode := range []uint32{0o4755, 0o1000, 0o2640, 0o644, 0o755} {
		must(t, n.Chmod(mode))
		if got := lstat(t, h, p).Mode; got != mode {
			t.Errorf("%s: Chmod %o gave %o", p, mode, got)
		}
	}
	s.chown(t, h, p, n)
	for _, at := range []int64{1, 1700000000123456789, -1500000000} {
		must(t, n.SetTimes(at, at+1))
		if st := lstat(t, h, p); st.ATime != at || st.MTime != at+1 {
			t.Errorf("%s: SetTimes %d gave %d, %d", p, at, st.ATime, st.MTime)
		}
	}
	xattrs(t, h, p, n)
	attrs(t, h, p, n)
}

func (s suite) chown(t *testing.T, h host.Host, p string, n host.Node) {
	must(t, n.Chmod(0o6755))
	must(t, n.Chown(0, 0))
	if st := lstat(t, h, p); st.Type == image.Regular && st.Mode != 0o755 {
		t.Errorf("%s: Chown left mode %o", p, st.Mode)
	}
	must(t, n.Chmod(0o755))
	err := n.Chown(12345, 54321)
	st, staterr := n.Stat()
	must(t, staterr)
	if !s.traits.Owners {
		if err == nil || !strings.Contains(err.Error(), "root") {
			t.Errorf("%s: Chown without privileges: %v", p, err)
		}
		return
	}
	if err != nil || st.UID != 12345 || st.GID != 54321 {
		t.Errorf("%s: Chown gave %d:%d, %v", p, st.UID, st.GID, err)
	}
	must(t, n.Chown(0, 0))
}

func xattrs(t *testing.T, h host.Host, p string, n host.Node) {
	err := n.SetXattr("user.fettle", []byte("v\x00w"))
	if errors.Is(err, host.ErrUnsupported) {
		return
	}
	must(t, err)
	must(t, n.SetXattr("user.empty", nil))
	got, err := h.Xattrs(p)
	must(t, err)
	if v, ok := got["user.empty"]; len(got) != 2 || string(got["user.fettle"]) != "v\x00w" || !ok || len(v) != 0 {
		t.Errorf("%s: Xattrs gave %q", p, got)
	}
	must(t, n.RemoveXattr("user.fettle"))
	must(t, n.RemoveXattr("user.empty"))
	if err := n.RemoveXattr("user.empty"); err == nil {
		t.Errorf("%s: an attribute was removed twice", p)
	}
	if got, err := h.Xattrs(p); got != nil || err != nil {
		t.Errorf("%s: Xattrs of none gave %q, %v", p, got, err)
	}
}

// attrs sets "no dump", which all users can set.
func attrs(t *testing.T, h host.Host, p string, n host.Node) {
	const noDump = 0x40
	err := n.SetAttrs(noDump)
	if errors.Is(err, host.ErrUnsupported) {
		return
	}
	must(t, err)
	if got, err := h.Attrs(p); got != noDump || err != nil {
		t.Errorf("%s: Attrs gave %#x, %v", p, got, err)
	}
	must(t, n.SetAttrs(0))
	if got, err := h.Attrs(p); got != 0 || err != nil {
		t.Errorf("%s: Attrs gave %#x, %v", p, got, err)
	}
}

// linkNode: metadata of a link itself, never of its target.
func (s suite) linkNode(t *testing.T, h host.Host) {
	before := lstat(t, h, "/f")
	n, err := h.OpenNode("/l")
	must(t, err)
	defer n.Close()
	if err := n.Chmod(0o600); !errors.Is(err, host.ErrUnsupported) {
		t.Errorf("Chmod of a link: %v", err)
	}
	must(t, n.Chown(0, 0))
	must(t, n.SetTimes(5, 6))
	if st := lstat(t, h, "/l"); st.Type != image.Symlink || st.MTime != 6 {
		t.Errorf("the link is %+v", st)
	}
	if st := lstat(t, h, "/f"); st.MTime != before.MTime || st.CTime != before.CTime {
		t.Error("changing the link changed its target")
	}
}

// links: symbolic and hard.
func (s suite) links(t *testing.T) {
	h := s.open(t)
	must(t, h.Mkdir("/d", 0o755))
	write(t, h, "/d/f", "x")
	must(t, h.Symlink("/d", "/abs"))
	must(t, h.Symlink("d", "/rel"))
	must(t, h.Symlink("../../../d", "/d/up"))
	must(t, h.Symlink("nowhere", "/dangling"))
	must(t, h.Symlink("loop2", "/loop1"))
	must(t, h.Symlink("loop1", "/loop2"))
	for _, p := range []string{"/abs/f", "/rel/f", "/d/up/f", "/abs/up/up/f"} {
		if got := read(t, h, p); got != "x" {
			t.Errorf("%s holds %q", p, got)
		}
	}
	write(t, h, "/abs/g", "through")
	if got := read(t, h, "/d/g"); got != "through" {
		t.Errorf("a file made behind a link holds %q", got)
	}
	s.lastLink(t, h)
	must(t, h.Symlink(strings.Repeat("n", 300)+"/d", "/long"))
	if _, err := h.Lstat("/loop1/f"); !errors.Is(err, fs.ErrNotExist) || !host.IsLoop(err) {
		t.Errorf("behind a loop of links: %v", err)
	}
	if _, err := h.Create("/loop1/f"); !errors.Is(err, fs.ErrNotExist) || !host.IsLoop(err) {
		t.Errorf("Create behind a loop of links: %v", err)
	}
	if _, err := h.Lstat("/long/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("behind a link with a name that is too long: %v", err)
	}
	if _, err := h.Lstat("/dangling/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a dangling link: %v", err)
	}
	hardLinks(t, h)
	movedBehindLink(t, h)
}

// lastLink: the last component is never followed.
func (s suite) lastLink(t *testing.T, h host.Host) {
	if st := lstat(t, h, "/abs"); st.Type != image.Symlink {
		t.Errorf("Lstat followed a link to a %s", st.Type)
	}
	if got, err := h.Readlink("/abs"); got != "/d" || err != nil {
		t.Errorf("Readlink gave %q, %v", got, err)
	}
	if _, err := h.Readlink("/d"); err == nil {
		t.Error("Readlink of a directory succeeded")
	}
	for name, open := range map[string]func(string) (host.File, error){"Open": h.Open, "OpenWrite": h.OpenWrite,
		"OpenAppend": h.OpenAppend} {
		for _, p := range []string{"/abs", "/dangling"} {
			if _, err := open(p); err == nil {
				t.Errorf("%s(%s) followed a link", name, p)
			}
		}
	}
	if _, err := h.ReadDir("/abs"); err == nil {
		t.Error("ReadDir followed a link")
	}
	if _, err := h.Create("/dangling"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a dangling link: %v", err)
	}
	if ok, _ := host.Exists(h, "/nowhere"); ok {
		t.Error("something was made through a dangling link")
	}
}

func hardLinks(t *testing.T, h host.Host) {
	must(t, h.Link("/d/f", "/hard"))
	a, b := lstat(t, h, "/d/f"), lstat(t, h, "/hard")
	if a.Ino != b.Ino || a.Nlink != 2 {
		t.Errorf("hard link: %+v, %+v", a, b)
	}
	if err := h.Link("/d/f", "/hard"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Link over a file: %v", err)
	}
	if err := h.Link("/d", "/hard2"); err == nil {
		t.Error("a directory was hard linked")
	}
	must(t, h.Link("/dangling", "/hard3"))
	if st := lstat(t, h, "/hard3"); st.Type != image.Symlink {
		t.Errorf("Link followed a link to a %s", st.Type)
	}
	must(t, h.Remove("/d/f"))
	if st := lstat(t, h, "/hard"); st.Nlink != 1 {
		t.Errorf("after the removal of one name, %d are left", st.Nlink)
	}
}

// movedBehindLink: no directory is remembered under a name that it lost.
func movedBehindLink(t *testing.T, h host.Host) {
	must(t, h.Mkdir("/d/in", 0o755))
	write(t, h, "/d/in/f", "old")
	read(t, h, "/d/in/f")
	must(t, h.Rename("/abs/in", "/abs/out"))
	if _, err := h.Lstat("/d/in/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory moved behind a link is still there: %v", err)
	}
}

// unsafe: a link that another user could replace is not followed.
func (s suite) unsafe(t *testing.T) {
	if !s.traits.Owners {
		t.Skip("needs root to make files of another owner")
	}
	h := s.open(t)
	must(t, h.Mkdir("/secret", 0o700))
	write(t, h, "/secret/f", "x")
	must(t, h.Mkdir("/home", 0o755))
	must(t, h.Symlink("/secret", "/home/roots"))
	must(t, h.Symlink("/secret", "/users"))
	own(t, h, "/users", 1000)
	own(t, h, "/home", 1000)
	must(t, h.Symlink("/home/roots", "/chain"))
	for _, p := range []string{"/home/roots/f", "/users/f", "/chain/f"} {
		for name, do := range everyOp(h) {
			if name == "LinkTo" || name == "RenameTo" {
				continue
			}
			err := do(p)
			if !errors.Is(err, host.ErrUnsafePath) {
				t.Errorf("%s(%s): %v", name, p, err)
			}
		}
	}
	if _, err := h.Lstat("/chain/f"); err == nil || !strings.Contains(err.Error(), "/home/roots") {
		t.Errorf("the error does not name the link: %v", err)
	}
	if st := lstat(t, h, "/home/roots"); st.Type != image.Symlink {
		t.Errorf("the link itself is a %s", st.Type)
	}
}

func own(t *testing.T, h host.Host, p string, uid uint32) {
	t.Helper()
	n, err := h.OpenNode(p)
	must(t, err)
	defer n.Close()
	must(t, n.Chown(uid, uid))
}
