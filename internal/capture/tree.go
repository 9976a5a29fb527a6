package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// ErrMount: another file system is mounted at or below the path.
var ErrMount = errors.New("another file system is mounted there")

// TreeEntry is one line of a manifest: everything below a directory that was
// taken whole, parents before children, names in byte order. The manifest is an
// object; the directory's image names it in Tree.
type TreeEntry struct {
	// Rel is the path relative to the directory. It holds any bytes, so it
	// travels as base64 in JSON.
	Rel  []byte     `json:"rel"`
	File image.File `json:"f"`
	// Same is the Rel of an earlier entry that is the same inode.
	Same []byte `json:"same,omitempty"`
}

// TakeTree is Take, and also stores everything below a directory. With a nil store it returns the
// same image and stores nothing.
func TakeTree(r host.Reader, store Objects, dir string) (Taken, error) {
	t, err := Take(r, store, dir)
	if err != nil || t.Type != image.Directory {
		return t, err
	}
	w := treeWriter{r: r, store: store, top: dir, seen: map[[2]uint64][]byte{}}
	if err := w.walk(dir, ""); err != nil {
		return Taken{}, err
	}
	t.Tree, err = w.finish()
	return t, err
}

// CompareTree is TakeTree without a store, for a comparison with a stored tree: each directory below dir gets
// the time that it has in the stored tree. A change in a directory changes its time, also if it was undone.
func CompareTree(r host.Reader, store Objects, dir, manifest string) (Taken, error) {
	t, err := Take(r, nil, dir)
	if err != nil || t.Type != image.Directory {
		return t, err
	}
	w := treeWriter{r: r, top: dir, seen: map[[2]uint64][]byte{}, times: map[string]int64{}}
	err = ReadTree(store, manifest, func(e TreeEntry) error {
		if e.File.Type == image.Directory {
			w.times[string(e.Rel)] = e.File.MTime
		}
		return nil
	})
	if err == nil {
		err = w.walk(dir, "")
	}
	t.Tree = digestBytes(w.buf.Bytes())
	return t, err
}

type treeWriter struct {
	r     host.Reader
	store Objects
	top   string
	buf   bytes.Buffer
	seen  map[[2]uint64][]byte // inode to the first name of a hard-linked file
	times map[string]int64     // times of directories instead of the present ones, by relative path
}

func (w *treeWriter) walk(dir, rel string) error {
	if same, err := w.r.SameMount(dir); err != nil {
		return err
	} else if !same && rel != "" {
		return fmt.Errorf("cannot store the whole tree %q: %w", dir, ErrMount)
	}
	names, err := w.r.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot list %q: %w", dir, err)
	}
	for _, name := range names {
		sub := join(rel, name)
		t, err := Take(w.r, w.store, path.Join(dir, name))
		if err != nil {
			return err
		}
		e := TreeEntry{Rel: []byte(sub), File: t.File, Same: w.link(t, sub)}
		if time, known := w.times[sub]; known && t.Type == image.Directory {
			e.File.MTime = time
		}
		line, err := journal.Marshal(e)
		if err != nil {
			return err
		}
		w.buf.Write(append(line, '\n'))
		if t.Type == image.Directory {
			if err := w.walk(path.Join(dir, name), sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *treeWriter) link(t Taken, rel string) []byte {
	if t.Nlink < 2 {
		return nil
	}
	id := [2]uint64{t.Stat.Dev, t.Stat.Ino}
	first, ok := w.seen[id]
	if !ok {
		w.seen[id] = []byte(rel)
	}
	return first
}

func (w *treeWriter) finish() (string, error) {
	if w.store == nil {
		return digestBytes(w.buf.Bytes()), nil
	}
	d, _, err := w.store.Put(&w.buf)
	return d, err
}

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// ReadTree calls each with the entries of a manifest in order.
func ReadTree(store Objects, digest string, each func(TreeEntry) error) error {
	rc, _, err := store.Open(digest)
	if err != nil {
		return fmt.Errorf("cannot read the stored tree %s: %w", digest, err)
	}
	defer rc.Close()
	text, err := io.ReadAll(rc) // whole, so that a damaged object is found before it is used
	if err != nil {
		return fmt.Errorf("cannot read the stored tree %s: %w", digest, err)
	}
	for line := range bytes.Lines(text) {
		var e TreeEntry
		if err := journal.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("cannot read the stored tree %s: %w", digest, err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}
