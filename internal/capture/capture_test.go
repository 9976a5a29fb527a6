package capture_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world has one of each kind of thing below /d.
func world(t *testing.T) *mem.FS {
	t.Helper()
	f := mem.NewFS(mem.Options{})
	check(t, errors.Join(f.Mkdir("/d", 0o755), f.Mkdir("/d/sub", 0o2750), f.Symlink("to/nowhere", "/d/link")))
	write(t, f, "/d/file", "some text")
	write(t, f, "/d/sub/deep\xff", "deep")
	check(t, errors.Join(f.Link("/d/file", "/d/sub/hard"), f.Mknod("/d/dev", image.CharDev, 0o600, 0x103),
		f.Mknod("/d/pipe", image.Fifo, 0o644, 0)))
	n := must(f.OpenNode("/d/file"))(t)
	check(t, errors.Join(n.Chown(7, 8), n.Chmod(0o4711), n.SetXattr("user.k", []byte("v")), n.SetAttrs(0x40), n.Close()))
	return f
}

func write(t *testing.T, f host.FS, p, text string) {
	t.Helper()
	w := must(f.Create(p))(t)
	_, err := w.Write([]byte(text))
	check(t, errors.Join(err, w.Close()))
}

func store(t *testing.T) *journal.Store {
	t.Helper()
	return must(journal.OpenWith(mem.NewFS(mem.Options{}), journal.Options{}))(t)
}

// TestTake: all data that is needed to restore a path is read.
func TestTake(t *testing.T) {
	f, s := world(t), store(t)
	file := must(capture.Take(f, s, "/d/file"))(t)
	if file.Type != image.Regular || file.Mode != 0o4711 || file.UID != 7 || file.GID != 8 || file.Size != 9 ||
		file.Nlink != 2 || file.Attrs != 0x40 ||
		string(file.Xattrs["user.k"]) != "v" || string(must(s.ReadObject(file.Digest))(t)) != "some text" || file.Mounted {
		t.Errorf("the file: %+v", file)
	}
	for p, want := range map[string]image.File{
		"/d/link":      {Type: image.Symlink, Target: "to/nowhere"},
		"/d/dev":       {Type: image.CharDev, Mode: 0o600, Rdev: 0x103},
		"/d/pipe":      {Type: image.Fifo, Mode: 0o644},
		"/d/sub":       {Type: image.Directory, Mode: 0o2750},
		"/d/none":      {Type: image.Absent},
		"/d/file/none": {Type: image.Absent},
	} {
		got := must(capture.Take(f, s, p))(t)
		looked := must(capture.Look(f, p, nil))(t)
		meta := must(capture.Metadata(f, p))(t)
		if !got.File.Same(&want) || !looked.Same(&want) || meta.Type != want.Type {
			t.Errorf("%s is %+v, a look says %+v, its metadata %+v", p, got.File, looked, meta)
		}
	}
	meta := must(capture.Metadata(f, "/d/file"))(t)
	if meta.Digest != "" || meta.Size != 0 || meta.Mode != 0o4711 || string(meta.Xattrs["user.k"]) != "v" ||
		meta.Attrs != 0x40 {
		t.Errorf("the metadata: %+v", meta)
	}
	check(t, f.BindMount("/d/file"))
	if got := must(capture.Take(f, s, "/d/file"))(t); !got.Mounted {
		t.Error("a mount point passes for a file")
	}
}

// remembering is a Digests that counts.
type remembering struct {
	known map[string]string
	asked int
}

func (r *remembering) Digest(p string, _ host.Stat) (string, bool) {
	r.asked++
	d, ok := r.known[p]
	return d, ok
}
func (r *remembering) Remember(p string, _ host.Stat, d string) { r.known[p] = d }

// TestLookRemembers: a file is read only once. The digest of a file that changes during the read is
// not cached.
func TestLookRemembers(t *testing.T) {
	f := world(t)
	r := &remembering{known: map[string]string{}}
	want := journal.DigestOf([]byte("some text"))
	if got := must(capture.Look(f, "/d/file", r))(t); got.Digest != want || r.known["/d/file"] != want {
		t.Errorf("%+v, remembered %v", got, r.known)
	}
	r.known["/d/file"] = "sha256:trusted"
	if got := must(capture.Look(f, "/d/file", r))(t); got.Digest != "sha256:trusted" {
		t.Errorf("read again: %+v", got)
	}
	clear(r.known)
	if _, err := capture.Look(&restless{FS: f, t: t}, "/d/file", r); err != nil || len(r.known) > 0 {
		t.Errorf("%v, remembered %v", err, r.known)
	}
}

// restless changes a file whenever it is opened.
type restless struct {
	host.FS
	t *testing.T
}

func (r *restless) Open(p string) (host.File, error) {
	w := must(r.FS.OpenWrite(p))(r.t)
	_, err := w.Write([]byte("X"))
	check(r.t, errors.Join(err, w.Close()))
	return r.FS.Open(p)
}

// TestChangedWhileItWasRead: half of one and half of another is nothing to keep.
func TestChangedWhileItWasRead(t *testing.T) {
	f := world(t)
	if _, err := capture.Take(&restless{FS: f, t: t}, store(t), "/d/file"); !errors.Is(err, capture.ErrChanged) {
		t.Errorf("error %v", err)
	}
}

// TestStill: changes that count, and changes that do not.
func TestStill(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		change func(t *testing.T, f *mem.FS)
		want   bool
	}{
		"nothing": {"/d/sub/deep\xff", func(*testing.T, *mem.FS) {}, true},
		"written": {"/d/sub/deep\xff", func(t *testing.T, f *mem.FS) {
			check(t, f.Remove("/d/sub/deep\xff"))
			write(t, f, "/d/sub/deep\xff", "deep")
		}, false},
		"gone": {"/d/sub/deep\xff", func(t *testing.T,
			f *mem.FS) {
			check(t, f.Remove("/d/sub/deep\xff"))
		}, false},
		"still nothing":         {"/none", func(*testing.T, *mem.FS) {}, true},
		"something by now":      {"/none", func(t *testing.T, f *mem.FS) { write(t, f, "/none", "") }, false},
		"an entry more":         {"/d", func(t *testing.T, f *mem.FS) { write(t, f, "/d/new", "") }, true},
		"a directory's mode":    {"/d", func(t *testing.T, f *mem.FS) { chmod(t, f, "/d", 0o700) }, false},
		"another name less":     {"/d/file", func(t *testing.T, f *mem.FS) { check(t, f.Remove("/d/sub/hard")) }, true},
		"the mode of two names": {"/d/file", func(t *testing.T, f *mem.FS) { chmod(t, f, "/d/sub/hard", 0o600) }, false},
		"a link's other text": {"/d/link", func(t *testing.T, f *mem.FS) {
			check(t, errors.Join(f.Remove("/d/link"), f.Symlink("other", "/d/link")))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(t)
			taken := must(capture.Whole(f, c.path))(t)
			c.change(t, f)
			if got := must(capture.Still(f, c.path, taken))(t); got != c.want {
				t.Errorf("still %v, want %v", got, c.want)
			}
		})
	}
}

func chmod(t *testing.T, f *mem.FS, p string, mode uint32) {
	t.Helper()
	n := must(f.OpenNode(p))(t)
	check(t, errors.Join(n.Chmod(mode), n.Close()))
}

// manifest is a tree in lines.
func manifest(t *testing.T, s *journal.Store, digest string) string {
	t.Helper()
	var out strings.Builder
	check(t, capture.ReadTree(s, digest, func(e capture.TreeEntry) error {
		fmt.Fprintf(&out, "%q %s %o %s\n", e.Rel, e.File.Type, e.File.Mode, e.Same)
		return nil
	}))
	return out.String()
}

// TestTree: everything below, parents first, in byte order, each inode once.
func TestTree(t *testing.T) {
	f, s := world(t), store(t)
	tree := must(capture.TakeTree(f, s, "/d"))(t)
	want := "\"dev\" char 600 \n\"file\" file 4711 \n\"link\" link 0 \n\"pipe\" fifo 644 \n\"sub\" dir 2750 \n\"sub/deep\\xff\" file 600 \n\"sub/hard\" file 4711 file\n"
	if got := manifest(t, s, tree.Tree); got != want {
		t.Errorf("the tree is\n%swant\n%s", got, want)
	}
	if again := must(capture.TakeTree(f, nil, "/d"))(t); !again.File.Same(&tree.File) {
		t.Error("a tree that nobody keeps is another")
	}
	if one := must(capture.TakeTree(f, s, "/d/file"))(t); one.Tree != "" {
		t.Error("a file is a tree")
	}
	check(t, f.BindMount("/d/sub"))
	if _, err := capture.TakeTree(f, s, "/d"); !errors.Is(err, capture.ErrMount) {
		t.Errorf("a mount below was taken: %v", err)
	}
	if _, err := capture.TakeTree(f, s, "/d/sub"); err != nil {
		t.Errorf("a mount itself is not taken: %v", err)
	}
}

// TestDamagedTrees: a manifest that cannot be read whole gives no entry.
func TestDamagedTrees(t *testing.T) {
	s := store(t)
	stop := errors.New("enough")
	good := must(s.PutBytes([]byte(`{"rel":"YQ==","f":{"type":"file"}}` + "\n")))(t)
	if err := capture.ReadTree(s, good, func(capture.TreeEntry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error is lost: %v", err)
	}
	bad := must(s.PutBytes([]byte("{\n")))(t)
	for _, digest := range []string{bad, journal.DigestOf([]byte("not there"))} {
		if err := capture.ReadTree(s, digest, func(capture.TreeEntry) error { return nil }); err == nil ||
			!strings.Contains(err.Error(), "cannot read the stored tree "+digest) {
			t.Errorf("error %v", err)
		}
	}
	if err := capture.ReadTree(torn{s}, good,
		func(capture.TreeEntry) error { t.Error("an entry of half an object"); return nil }); !errors.Is(err,
		io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

// torn gives objects that break off.
type torn struct{ *journal.Store }

func (s torn) Open(digest string) (io.ReadCloser, int64, error) {
	b, err := s.ReadObject(digest)
	return io.NopCloser(io.MultiReader(bytes.NewReader(b), broken{})), int64(len(b)), err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestEveryLookThatFails: every read error is reported.
func TestEveryLookThatFails(t *testing.T) {
	base := world(t)
	for name, take := range map[string]func(f host.Reader) error{
		"tree":     func(f host.Reader) error { _, err := capture.TakeTree(f, store(t), "/d"); return err },
		"metadata": func(f host.Reader) error { _, err := capture.Metadata(f, "/d/file"); return err },
		"link":     func(f host.Reader) error { _, err := capture.Metadata(f, "/d/link"); return err },
		"look":     func(f host.Reader) error { _, err := capture.Look(f, "/d/file", nil); return err },
		"whole":    func(f host.Reader) error { _, err := capture.Whole(f, "/d/file"); return err },
		"still": func(f host.Reader) error {
			_, err := capture.Still(f, "/d/file", capture.Taken{File: image.File{Type: image.Absent}})
			return err
		},
	} {
		for at := 1; ; at++ {
			l := &fault.Looks{FS: base.CrashClone(rand.New(rand.NewPCG(1, 1))), At: at}
			err := take(l)
			if l.Hit() == "" {
				if at == 1 {
					t.Errorf("%s looks at nothing", name)
				}
				break
			}
			if !errors.Is(err, fault.ErrLook) && !strings.Contains(l.Hit(), "seek") && !strings.Contains(l.Hit(), "holes") {
				t.Errorf("%s: the %s fails and nobody is told: %v", name, l.Hit(), err)
			}
		}
	}
}
