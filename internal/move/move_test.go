package move_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
)

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, f host.FS, p, text string) {
	t.Helper()
	w := must(f.Create(p))(t)
	_, err := w.Write([]byte(text))
	check(t, errors.Join(err, w.Chmod(0o644), w.Close()))
}

// world is a host, the objects of its desired state, and the images.
type world struct {
	fs    *mem.FS
	store *journal.Store
	blob  string // "new text"
	holes string // an object with a hole
	tree  string // a manifest with a directory, a file, a link to it, and a symbolic link
}

func newWorld(t testing.TB) world {
	t.Helper()
	w := world{fs: mem.NewFS(mem.Options{}), store: must(journal.OpenWith(mem.NewFS(mem.Options{}), journal.Options{}))(t)}
	f := w.fs
	check(t, errors.Join(f.Mkdir("/d", 0o755), f.Mkdir("/d/empty", 0o700), f.Mkdir("/d/full", 0o711),
		f.Mkdir("/d/full/sub", 0o700), f.Mkdir("/d/swap", 0o755), f.Symlink("old", "/d/link")))
	for _, p := range []string{"gone", "changed", "meta", "full/theirs", "full/sub/deep", "tofull", "mounted"} {
		write(t, f, "/d/"+p, "old "+p)
	}
	check(t, f.BindMount("/d/mounted"))
	source := mem.NewFS(mem.Options{})
	check(t, errors.Join(source.Mkdir("/s", 0o755), source.Mkdir("/s/in", 0o2750), source.Symlink("in", "/s/l")))
	write(t, source, "/s/in/f", "in the tree")
	check(t, source.Link("/s/in/f", "/s/in/same"))
	w.tree = must(capture.TakeTree(source, w.store, "/s"))(t).Tree
	w.blob = must(w.store.PutBytes([]byte("new text")))(t)
	w.holes = must(w.store.PutBytes([]byte(strings.Repeat("\x00", 70<<10) + "end" + strings.Repeat("\x00", 9<<10))))(t)
	check(t, errors.Join(f.SyncFS("/"), w.store.SyncObjects()))
	return w
}

// batch makes the moves of every kind, on fs.
func (w world) batch(t testing.TB, fs host.FS) *move.Batch {
	t.Helper()
	b := &move.Batch{FS: fs, Store: w.store}
	add := func(p string, whole bool, to image.File) {
		take := capture.Whole
		if whole {
			take = func(r host.Reader, p string) (capture.Taken, error) { return capture.TakeTree(r, w.store, p) }
		}
		from := must(take(w.fs, p))(t)
		b.Moves = append(b.Moves, &move.Move{Change: len(b.Moves), Path: p, From: from, To: to,
			Temp: move.TempFor(p, 7, len(b.Moves), false)})
	}
	file := image.File{Type: image.Regular, Mode: 0o4750, UID: 7, GID: 8, Digest: w.blob,
		MTime: 1_600_000_000_000_000_000, Xattrs: map[string][]byte{"user.k": []byte("v")}}
	meta := must(capture.Whole(w.fs, "/d/meta"))(t).File
	meta.UID, meta.Mode, meta.Attrs = 9, 0o600, host.AttrAppend
	mounted := file
	mounted.Xattrs = nil
	add("/d/new", false, image.File{Type: image.Directory, Mode: 0o2750, GID: 8})
	add("/d/new/file", false, file)
	add("/d/new/pipe", false, image.File{Type: image.Fifo, Mode: 0o640})
	add("/d/holes", false, image.File{Type: image.Regular, Mode: 0o644, Digest: w.holes})
	add("/d/changed", false, file)
	add("/d/link", false, image.File{Type: image.Symlink, Target: "new", UID: 9})
	add("/d/meta", false, meta)
	add("/d/gone", false, image.File{Type: image.Absent})
	add("/d/empty", false, image.File{Type: image.Absent})
	add("/d/full", true, image.File{Type: image.Absent})
	add("/d/swap", false, image.File{Type: image.Symlink, Target: "swapped"})
	add("/d/tofull", false, image.File{Type: image.Directory, Mode: 0o755, Tree: w.tree})
	add("/d/mounted", false, mounted)
	add("/d/nothing", false, image.File{Type: image.Absent})
	return b
}

// do processes a batch as apply does, including syncs.
func do(b *move.Batch) (shown bool, err error) {
	if f, ok := any(b).(interface{ Fold() }); ok {
		f.Fold()
	}
	for _, m := range b.Moves {
		if err := m.Check(); err != nil {
			return false, err
		}
	}
	if err := errors.Join(b.Stage()); err != nil {
		return false, err
	}
	if err := b.Barrier(); err != nil {
		return false, err
	}
	if err := errors.Join(b.Show(), b.Settle()); err != nil {
		return true, err
	}
	for _, temp := range b.Aside() {
		if err := move.RemoveTemp(b.FS, temp); err != nil {
			return true, err
		}
	}
	return true, nil
}

// discard removes staged files.
func discard(b *move.Batch) error {
	if d, ok := any(b).(interface{ Discard() error }); ok {
		return d.Discard()
	}
	return b.Drop()
}

// picture is everything on the machine, one line each.
func picture(t testing.TB, f host.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		for _, name := range must(f.ReadDir(dir))(t) {
			p := path.Join(dir, name)
			one := must(capture.Whole(f, p))(t).File
			mtime := one.MTime
			if one.Type == image.Directory || one.Type == image.Symlink || mtime != 1_600_000_000_000_000_000 {
				mtime = 0
			}
			one.MTime = 0
			out[p] = fmt.Sprintf("%s %o %d:%d %.20s %s %q %x %d nlink %d", one.Type, one.Mode, one.UID, one.GID, one.Digest,
				one.Target, one.Xattrs, one.Attrs, mtime, one.Nlink)
			if one.Type == image.Directory {
				walk(p)
			}
		}
	}
	walk("/")
	return out
}

func diff(a, b map[string]string) string {
	var out []string
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s is %q and not %q", k, a[k], b[k]))
		}
	}
	return strings.Join(out, "\n")
}

// TestBatch: every kind of move does what its image says, and leaves nothing
// beside it.
func TestBatch(t *testing.T) {
	w := newWorld(t)
	b := w.batch(t, w.fs)
	_, err := do(b)
	check(t, err)
	for _, m := range b.Moves {
		take := capture.Whole
		if m.To.Tree != "" {
			take = func(r host.Reader, p string) (capture.Taken, error) { return capture.TakeTree(r, nil, p) }
		}
		got := must(take(w.fs, m.Path))(t).File
		if m.To.MTime != 0 && got.MTime != m.To.MTime {
			t.Errorf("%s has time %d, want %d", m.Path, got.MTime, m.To.MTime)
		}
		if !got.Same(&m.To) {
			t.Errorf("%s is %+v, want %+v", m.Path, got, m.To)
		}
		if !m.Shown() && m.To.Type != image.Absent {
			t.Errorf("%s is not shown", m.Path)
		}
	}
	for p := range picture(t, w.fs) {
		if move.IsTemp(path.Base(p)) || strings.Contains(p, "-old~") {
			t.Errorf("%s is left", p)
		}
	}
	f := must(w.fs.Open("/d/holes"))(t)
	if start, end, err := f.NextData(0); err != nil || start < 60<<10 || end > 78<<10 {
		t.Errorf("data from %d to %d, %v: the holes are lost", start, end, err)
	}
	same := must(w.fs.Lstat("/d/tofull/in/f"))(t).Ino == must(w.fs.Lstat("/d/tofull/in/same"))(t).Ino
	if !same {
		t.Error("two names of one file came back as two files")
	}
}

// broken runs a batch on a machine of which something fails, and then looks:
// before anything was shown all is as before once the batch is discarded, and
// afterwards each path has its old or its new state.
func broken(t *testing.T, w world, fs host.FS, aside *mem.FS, what func() string) (hit bool) {
	t.Helper()
	old := picture(t, w.fs)
	b := w.batch(t, fs)
	whole := newPicture(t, w)
	shown, err := do(b)
	if what() == "" {
		return false
	}
	if err == nil { // it made no difference
		for _, p := range temps(b) {
			if _, err := aside.Lstat(p); err == nil {
				t.Errorf("the %s fails, and %s is left", what(), p)
			}
		}
		if d := diff(picture(t, aside), whole); d != "" || strings.HasPrefix(what(), host.OpSync) {
			t.Errorf("the %s fails and nobody is told\n%s", what(), d)
		}
		return true
	}
	b.FS = aside
	if !shown {
		check(t, discard(b))
		if d := diff(picture(t, aside), old); d != "" {
			t.Errorf("the %s fails (%v), and after discarding\n%s", what(), err, d)
		}
		return true
	}
	check(t, b.Drop())
	got := picture(t, aside)
	for p, line := range got {
		if line != old[p] && line != whole[p] && !inBetween(p) {
			t.Errorf("the %s fails (%v), and %s is %q: was %q, becomes %q", what(), err, p, line, old[p], whole[p])
		}
	}
	return true
}

func temps(b *move.Batch) (out []string) {
	for _, m := range b.Moves {
		out = append(out, m.Temp)
	}
	return out
}

// inBetween reports whether a path changes in place, which takes several operations.
func inBetween(p string) bool { return p == "/d/meta" || p == "/d/mounted" }

func newPicture(t *testing.T, w world) map[string]string {
	t.Helper()
	f := w.fs.CrashClone(rand.New(rand.NewPCG(1, 1)))
	check(t, f.BindMount("/d/mounted"))
	_, err := do(w.batch(t, f))
	check(t, err)
	return picture(t, f)
}

// TestEveryOperationThatFails lets each operation of a batch fail, one at a time.
func TestEveryOperationThatFails(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t)
		plan := &fault.Plan{At: at, Err: syscall.EIO}
		op := ""
		fs := w.fs.Counted(func(name, p string) error {
			err := plan.Count(name, p)
			if err != nil {
				op = name + " " + p
			}
			return err
		})
		if !broken(t, w, fs, w.fs, func() string { return op }) {
			if at < 40 {
				t.Errorf("only %d operations", at)
			}
			return
		}
	}
}

// TestEveryLookThatFails does so with each look.
func TestEveryLookThatFails(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t)
		l := &fault.Looks{FS: w.fs, At: at}
		if !broken(t, w, l, w.fs, l.Hit) {
			if at < 20 {
				t.Errorf("only %d looks", at)
			}
			return
		}
	}
}
