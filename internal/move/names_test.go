package move_test

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
)

// unlinked refuses hard links, as between two file systems.
type unlinked struct{ host.FS }

func (unlinked) Link(string, string) error { return errors.New("invalid cross-device link") }

// restored are two removed names of one file, which a batch restores; other is a name that is left.
func restored(t *testing.T, w world, fs host.FS, other string) []host.Stat {
	t.Helper()
	b := &move.Batch{FS: fs, Store: w.store}
	file := image.File{Type: image.Regular, Mode: 0o640, Digest: w.blob, MTime: 1_600_000_000_000_000_000}
	for i, p := range []string{"/d/one", "/d/full/sub/two"} {
		from := capture.Taken{File: image.File{Type: image.Absent}}
		b.Moves = append(b.Moves, &move.Move{Change: i, Path: p, From: from, To: file,
			Temp: move.TempFor(p, 7, i, true), Inode: "1:7", Name: other})
	}
	if _, err := do(b); err != nil {
		t.Fatal(err)
	}
	var out []host.Stat
	for _, p := range []string{"/d/one", "/d/full/sub/two"} {
		st := must(w.fs.Lstat(p))(t)
		if st.Mode != 0o640 && other == "" {
			t.Errorf("%s has the mode %o", p, st.Mode)
		}
		out = append(out, st)
	}
	return out
}

func TestNamesOfOneFile(t *testing.T) {
	w := newWorld(t)
	if st := restored(t, w, w.fs, ""); st[0].Ino != st[1].Ino {
		t.Error("two names of a batch are two files")
	}
	w = newWorld(t)
	left := must(w.fs.Lstat("/d/changed"))(t)
	if st := restored(t, w, w.fs, "/d/changed"); st[0].Ino != left.Ino || st[1].Ino != left.Ino {
		t.Error("the names are not those of the file that is left")
	}
	w = newWorld(t)
	if st := restored(t, w, unlinked{w.fs}, ""); st[0].Ino == st[1].Ino {
		t.Error("a link was possible where it is refused")
	}
}
