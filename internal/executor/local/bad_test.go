package local_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

func asRoot(t *testing.T) {
	t.Helper()
	needs.Root(t)
}

// refused plans and applies a list that cannot be applied, and gives the error.
// It must be undone whole, and say at which line it is.
func (w *world) refused(list string) error {
	w.t.Helper()
	was := w.look()
	r := request(w.t, list)
	rep, err := w.x.Apply(context.Background(), r, nil, executor.Options{OnFailure: "undo"}, nil)
	if err == nil {
		w.t.Fatalf("applied: %q", list)
	}
	place := err.Error()
	if rep != nil && rep.Failed != nil {
		place = rep.Failed.Source
	}
	if !strings.Contains(place, "list:") {
		w.t.Fatalf("no place in the list: %v", err)
	}
	if d := differs(was, w.look(), nothing); len(d) > 0 {
		w.t.Fatalf("%v, and it left:\n%s", err, strings.Join(d, "\n"))
	}
	return err
}

func (w *world) attrs(p string, attrs uint32) {
	n, err := w.aside.OpenNode(p)
	w.must(err)
	w.must(errors.Join(n.SetAttrs(attrs), n.Close()))
}

func TestRefusals(t *testing.T) {
	asRoot(t)
	for _, c := range []struct {
		name, list string
		prepare    func(*world)
		says       string
		is         error
	}{
		{"immutable file", "COPY 0 /etc/before\nCOPY 1 /etc/x\n", func(w *world) { w.write("/etc/x", "old"); w.attrs("/etc/x", host.AttrImmutable) }, "chattr", nil},
		{"file in an immutable directory", "COPY 1 /etc/d/x\n", func(w *world) { w.mkdirs("/etc/d"); w.attrs("/etc/d", host.AttrImmutable) }, "chattr", nil},
		{"hard-linked file", "COPY 1 /etc/x\n", func(w *world) { w.write("/etc/x", "old"); w.must(w.aside.Link("/etc/x", "/etc/y")) }, "hard links", nil},
		{"directory in the way of a file", "COPY 1 /etc/x\n", func(w *world) { w.mkdirs("/etc/x/y") }, "RM", nil},
		{"directory in the way of an edit", "EDIT /etc/x line=a\n", func(w *world) { w.mkdirs("/etc/x") }, "not a regular file", nil},
		{"edit through a link", "EDIT /etc/x line=a\n", func(w *world) { w.must(w.aside.Symlink("passwd", "/etc/x")) }, "name that file", nil},
		{"edit of nothing", "EDIT /etc/x line=a\n", nil, "create=true", nil},
		{"metadata of nothing", "META /etc/x mode=0600\n", nil, "COPY or MKDIR creates them", nil},
		{"unknown owner", "COPY 1 /etc/x owner=nobdy\n", nil, "USER step", nil},
		{"unknown group", "MKDIR /etc/x group=nobdy\n", nil, "GROUP step", nil},
		{"unknown user in an access list", "META /etc/passwd acl=u:nobdy:r\n", nil, "USER step", nil},
		{"access list that is none", "META /etc/passwd acl=u:ann\n", nil, "u:NAME:rwx", nil},
		{"no parent", "COPY 1 /nowhere/x\n", nil, "the directory \"/nowhere\" does not exist. Declare it first: directory", nil},
		{"a file is the parent", "COPY 1 /etc/passwd/x\n", nil, "not a directory", nil},
		{"a link planted by another user", "COPY 1 /home/ann/x/evil\n", func(w *world) {
			w.mkdirs("/home/ann")
			w.must(w.aside.Symlink("/etc", "/home/ann/x"))
			w.own("/home/ann", 1000)
			w.own("/home/ann/x", 1000)
		}, "", host.ErrUnsafePath},
		{"the root", "RM /\n", nil, "root", nil},
		{"content that nobody has", "COPY sha256:" + strings.Repeat("ab", 32) + " /etc/x\n", nil, "cannot find the content", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			w := onDisk(t, root)
			defer w.close()
			if c.prepare != nil {
				c.prepare(w)
			}
			t.Cleanup(func() { unlock(t, root) })
			err := w.refused(c.list)
			if c.is != nil && !strings.Contains(err.Error(), c.is.Error()) {
				t.Errorf("says %v\nand not %v", err, c.is)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v\nand not %q", err, c.says)
			}
		})
	}
}

// own gives a path away.
func (w *world) own(p string, id uint32) {
	n, err := w.aside.OpenNode(p)
	w.must(err)
	w.must(errors.Join(n.Chown(id, id), n.Close()))
}

// unlock takes inode attributes away, so that the directory can be removed.
func unlock(t *testing.T, root string) {
	h := openDisk(t, root, nil)
	for _, p := range []string{"/etc/x", "/etc/d"} {
		if n, err := h.OpenNode(p); err == nil {
			_ = errors.Join(n.SetAttrs(0), n.Close())
		}
	}
}

// TestAccessListsAreThoseOfSetfacl compares with the tool.
func TestAccessListsAreThoseOfSetfacl(t *testing.T) {
	asRoot(t)
	setfacl, getfacl := needs.Program(t, "setfacl"), needs.Program(t, "getfacl")
	for _, acl := range []string{"u:1000:rw", "g:33:r", "u:1000:rwx,g:33:r-x", "u:1000:rw,m::r", "u:1000:r,o::rwx", "u::rwx,u:0:r"} {
		for _, mode := range []os.FileMode{0o600, 0o644, 0o750} {
			w := onDisk(t, t.TempDir())
			for _, f := range []string{"/etc/ours", "/etc/theirs"} {
				w.write(f, "x")
				w.must(os.Chmod(filepath.Join(w.root, f), mode))
			}
			if _, ok := w.applyLawfully("META /etc/ours acl=" + acl + "\n"); !ok {
				t.Fatalf("%s was not applied", acl)
			}
			theirs := filepath.Join(w.root, "etc/theirs")
			if out, err := exec.Command(setfacl, "-m", acl, theirs).CombinedOutput(); err != nil {
				t.Fatalf("setfacl %s: %v %s", acl, err, out)
			}
			read := func(p string) string {
				out, err := exec.Command(getfacl, "-cn", "--absolute-names", p).Output()
				w.must(err)
				return string(out)
			}
			if a, b := read(filepath.Join(w.root, "etc/ours")), read(theirs); a != b {
				t.Errorf("%s on %o gives\n%swhere setfacl gives\n%s", acl, mode, a, b)
			}
			w.close()
		}
	}
}

// TestAttributes: what chattr sets is set, and undone.
func TestAttributes(t *testing.T) {
	asRoot(t)
	w := onDisk(t, t.TempDir())
	defer w.close()
	w.write("/etc/x", "x")
	t.Cleanup(func() { unlock(t, w.root) })
	before := past{0, w.look()}
	if _, ok := w.applyLawfully("META /etc/x attrs=i\n"); !ok {
		t.Fatal("attributes were not set")
	}
	if a, err := w.aside.Attrs("/etc/x"); err != nil || a&host.AttrImmutable == 0 {
		t.Errorf("the file is not immutable: %x %v", a, err)
	}
	w.backTo(before, nil)
}

// TestCapabilitiesSurviveAChangeOfOwner: the kernel drops them, META does not.
func TestCapabilitiesSurviveAChangeOfOwner(t *testing.T) {
	asRoot(t)
	w := onDisk(t, t.TempDir())
	defer w.close()
	w.write("/etc/x", "x")
	n, err := w.aside.OpenNode("/etc/x")
	w.must(err)
	w.must(errors.Join(n.Chmod(0o4755), n.SetXattr("security.capability", capability), n.Close()))
	before := past{0, w.look()}
	if _, ok := w.applyLawfully("META /etc/x owner=ann\n"); !ok {
		t.Fatal("the owner was not changed")
	}
	x, err := w.aside.Xattrs("/etc/x")
	if st, _ := w.aside.Lstat("/etc/x"); err != nil || !bytes.Equal(x["security.capability"], capability) || st.Mode != 0o4755 || st.UID != 1000 {
		t.Errorf("after a change of owner: %v, %v, %+v", x, err, st)
	}
	w.backTo(before, nil)
}

// TestHugeSparseFile: a large hole goes and comes back as a hole.
func TestHugeSparseFile(t *testing.T) {
	sample.Group(t, 3, 11)
	const hugeSize = 256 << 20
	asRoot(t)
	if testing.Short() {
		t.Skip("it reads 256 MiB")
	}
	w := onDisk(t, t.TempDir())
	defer w.close()
	f, err := w.aside.Create("/etc/huge")
	w.must(err)
	w.must(f.Truncate(hugeSize))
	_, err = f.Write([]byte("head"))
	w.must(errors.Join(err, f.Close()))
	if _, ok := w.applyLawfully("COPY 1 /etc/huge\n"); !ok {
		t.Fatal("a huge file was not replaced")
	}
	w.rollback(0)
	out, err := exec.Command("du", "-k", filepath.Join(w.root, "etc/huge")).Output()
	w.must(err)
	if st, err := os.Stat(filepath.Join(w.root, "etc/huge")); err != nil || st.Size() != hugeSize || len(strings.Fields(string(out))[0]) > 4 {
		t.Errorf("it came back as %v, %v, du says %s", st, err, out)
	}
}

// gone is a repository whose files went.
type gone struct{ repo.Tree }

func (gone) Open(p string) (io.ReadCloser, error) {
	return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
}

// TestContentThatCannotBeRead: nothing is half applied.
func TestContentThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	was := w.look()
	r := request(t, "COPY 0 /etc/a\nCOPY 1 /etc/b\n")
	d := r.List[1].Blob()
	r.Blobs[d] = kind.Blob{Digest: d, Size: 4, Tree: gone{}, Path: "files/gone"}
	_, err := w.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
	if err == nil || !strings.Contains(err.Error(), "/etc/b") {
		t.Errorf("unreadable content: %v", err)
	}
	if d := differs(was, w.look(), nothing); len(d) > 0 {
		t.Errorf("it left:\n%s", strings.Join(d, "\n"))
	}
}

// TestBadState: state that cannot be trusted stops everything, and nothing on
// the machine changes.
func TestBadState(t *testing.T) {
	newest := func(t *testing.T, w *world) string {
		names, err := w.state.ReadDir("/journal")
		w.must(err)
		for i := len(names) - 1; i >= 0; i-- {
			if strings.HasSuffix(names[i], ".wal") || strings.Contains(names[i], "0") {
				return "/journal/" + names[i]
			}
		}
		t.Fatal("no journal")
		return ""
	}
	rewrite := func(w *world, p string, change func([]byte) []byte) {
		f, err := w.state.Open(p)
		w.must(err)
		st, err := f.Stat()
		w.must(err)
		b := make([]byte, st.Size)
		_, err = f.ReadAt(b, 0)
		w.must(errors.Join(err, f.Close(), w.state.Remove(p)))
		f, err = w.state.Create(p)
		w.must(err)
		_, err = f.Write(change(b))
		w.must(errors.Join(err, f.Close()))
	}
	for name, spoil := range map[string]func(*testing.T, *world){
		"newer format": func(_ *testing.T, w *world) { rewrite(w, "/format", func([]byte) []byte { return []byte("999\n") }) },
		"no format":    func(_ *testing.T, w *world) { rewrite(w, "/format", func([]byte) []byte { return []byte("\x00junk") }) },
		"damaged journal": func(t *testing.T, w *world) {
			rewrite(w, newest(t, w), func(b []byte) []byte { b[len(b)/3] ^= 0x40; return b })
		},
		"objects are a file": func(_ *testing.T, w *world) {
			w.must(w.state.Rename("/objects", "/was"))
			f, err := w.state.Create("/objects")
			w.must(errors.Join(err, f.Close()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, l := range []string{"COPY 0 /etc/a\nCOPY 1 /etc/b\n", "COPY 1 /etc/a\nCOPY 1 /etc/b\n"} {
				if _, ok := w.applyLawfully(l); !ok {
					t.Fatal("cannot begin")
				}
			}
			spoil(t, w)
			was := w.look()
			w.ops.Reset()
			x, err := local.New(w.h, w.state, local.Options{Ballast: -1})
			if err == nil {
				_, err = x.Apply(context.Background(), request(t, "COPY 2 /etc/a\n"), nil, executor.Options{}, nil)
			}
			if err == nil {
				_, err = x.Rollback(context.Background(), executor.RollbackRequest{To: 1}, nil, executor.Options{}, nil)
			}
			if err == nil {
				t.Fatal("nobody noticed")
			}
			if name != "damaged journal" {
				if d := differs(was, w.look(), nothing); len(d) > 0 || w.ops.N() > 0 {
					t.Errorf("%v, and it changed:\n%s%s", err, strings.Join(d, "\n"), w.ops.Trace())
				}
			}
		})
	}
}
