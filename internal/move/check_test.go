package move_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
)

// TestCheck: an impossible move is reported before any change.
func TestCheck(t *testing.T) {
	file := image.File{Type: image.Regular, Digest: "sha256:a"}
	other := image.File{Type: image.Regular, Digest: "sha256:b"}
	dir, none := image.File{Type: image.Directory}, image.File{Type: image.Absent}
	with := func(f image.File, change func(*image.File)) image.File { change(&f); return f }
	fixed := with(file, func(f *image.File) { f.Attrs = host.AttrImmutable })
	grows := with(file, func(f *image.File) { f.Attrs = host.AttrAppend })
	twice := with(file, func(f *image.File) { f.Nlink = 2 })
	for name, c := range map[string]struct {
		from, to image.File
		mounted  bool
		want     error
		text     string
		inPlace  bool
		atomic   bool
	}{
		"new":                      {from: none, to: file, atomic: true},
		"replaced":                 {from: file, to: other, atomic: true},
		"only its mode":            {from: file, to: with(file, func(f *image.File) { f.Mode = 0o600 }), inPlace: true},
		"immutable":                {from: fixed, to: other, want: move.ErrImmutable, atomic: true},
		"append-only":              {from: grows, to: none, want: move.ErrImmutable, atomic: true},
		"immutable, only its mode": {from: fixed, to: with(file, func(f *image.File) { f.Mode = 0o600 }), inPlace: true},
		"two names":                {from: twice, to: other, want: move.ErrHardLinks, atomic: true},
		"two names, one goes":      {from: twice, to: none, atomic: true},
		"a mounted file":           {from: file, to: other, mounted: true, inPlace: true},
		"a mounted file goes":      {from: file, to: none, mounted: true, text: "unmount it first", atomic: true},
		"a mounted directory":      {from: dir, to: file, mounted: true, text: "unmount it first"},
		"a directory for a file":   {from: file, to: dir},
		"a directory goes":         {from: dir, to: none, atomic: true},
		"nothing":                  {from: none, to: none, atomic: true},
		"a link to something else": {from: image.File{Type: image.Symlink, Target: "a"},
			to: image.File{Type: image.Symlink, Target: "b"}, atomic: true},
		"a device of other numbers": {from: image.File{Type: image.CharDev, Rdev: 1},
			to: image.File{Type: image.CharDev, Rdev: 2}, atomic: true},
	} {
		m := &move.Move{Path: "/p", From: capture.Taken{File: c.from, Mounted: c.mounted}, To: c.to}
		err := m.Check()
		if c.want != nil && !errors.Is(err, c.want) || c.text != "" &&
			(err == nil || !strings.Contains(err.Error(), c.text)) || c.want == nil && c.text == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m.InPlace() != c.inPlace || m.Atomic() != c.atomic {
			t.Errorf("%s: in place %v, atomic %v", name, m.InPlace(), m.Atomic())
		}
	}
}

// TestTemps: names that no drop-in directory takes for its own, and that only we
// take for ours.
func TestTemps(t *testing.T) {
	temp := move.TempFor("/etc/cron.d/x", 7, 3, false)
	if temp != "/etc/cron.d/.fettle-7-3~" || move.TempFor("/x", 7, 3, true) != "/.fettle-7-3-back~" ||
		move.AsideOf(".fettle-7-3~") != ".fettle-7-3-old~" {
		t.Errorf("%s", temp)
	}
	for name, want := range map[string]bool{".fettle-7-3~": true, ".fettle-7-3-back~": true, ".fettle-1~": true,
		".fettle-~": false, ".fettle-7-3": false, "fettle-7-3~": false, "x": false, "": false} {
		if move.IsTemp(name) != want {
			t.Errorf("%q is a temporary: %v", name, !want)
		}
	}
	if err := move.RemoveTemp(mem.NewFS(mem.Options{}), "/etc/passwd"); err == nil {
		t.Error("something was removed that is no temporary")
	}
}

// TestRemoveTemp removes a temporary file, its second name and everything below, immutable or not.
func TestRemoveTemp(t *testing.T) {
	f := mem.NewFS(mem.Options{})
	check(t, errors.Join(f.Mkdir("/.fettle-7-3~", 0o755), f.Mkdir("/.fettle-7-3~/sub", 0o755)))
	write(t, f, "/.fettle-7-3~/sub/file", "x")
	write(t, f, "/.fettle-7-3-old~", "y")
	for _, p := range []string{"/.fettle-7-3~/sub/file", "/.fettle-7-3~/sub", "/.fettle-7-3-old~"} {
		n := must(f.OpenNode(p))(t)
		check(t, errors.Join(n.SetAttrs(host.AttrImmutable), n.Close()))
	}
	check(t, move.RemoveTemp(f, "/.fettle-7-3~"))
	if names := must(f.ReadDir("/"))(t); len(names) != 0 {
		t.Errorf("%q is left", names)
	}
	check(t, errors.Join(move.RemoveTemp(f, "/.fettle-7-3~"), move.RemoveTemp(f, "/gone/.fettle-7-3~")))
}

// TestSomebodyElse: a path that changed since its capture is not touched, and neither is an
// unexpected file at a new path.
func TestSomebodyElse(t *testing.T) {
	for _, p := range []string{"/d/changed", "/d/link", "/d/meta", "/d/gone", "/d/new", "/d/holes", "/d/swap"} {
		w := newWorld(t)
		b := w.batch(t, w.fs)
		i := slices.IndexFunc(b.Moves, func(m *move.Move) bool { return m.Path == p })
		b.Moves = []*move.Move{b.Moves[i]}
		if err := w.fs.Remove(p); b.Moves[0].From.Type != image.Absent {
			check(t, err)
		}
		write(t, w.fs, p, "theirs")
		was := picture(t, w.fs)
		_, err := do(b)
		var me *move.Error
		if !errors.Is(err, move.ErrChanged) || !errors.As(err, &me) || me.Path != p ||
			!strings.Contains(err.Error(), `"`+p+`": another process changed it`) {
			t.Errorf("%s: %v", p, err)
		}
		check(t, errors.Join(b.Drop(), discard(b)))
		if d := diff(picture(t, w.fs), was); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
}

// TestKept: a directory that others put something into stays, with that.
func TestKept(t *testing.T) {
	w := newWorld(t)
	b := w.batch(t, w.fs)
	i := slices.IndexFunc(b.Moves, func(m *move.Move) bool { return m.Path == "/d/empty" })
	m := b.Moves[i]
	b.Moves = []*move.Move{m}
	write(t, w.fs, "/d/empty/theirs", "x")
	if _, err := do(b); err != nil || !slices.Equal(m.Kept, []string{"theirs"}) {
		t.Errorf("%v, kept %q", err, m.Kept)
	}
	if _, err := w.fs.Lstat("/d/empty/theirs"); err != nil {
		t.Error(err)
	}
}

// TestValidate: refused content never becomes visible.
func TestValidate(t *testing.T) {
	w := newWorld(t)
	b := w.batch(t, w.fs)
	no := errors.New("it is no configuration")
	seen := ""
	b.Moves[4].Validate = func(temp string) error { seen = temp; return no }
	was := picture(t, w.fs)
	if _, err := do(b); !errors.Is(err, no) || seen != b.Moves[4].Temp {
		t.Errorf("%v after %q", err, seen)
	}
	check(t, discard(b))
	if d := diff(picture(t, w.fs), was); d != "" {
		t.Error(d)
	}
}
