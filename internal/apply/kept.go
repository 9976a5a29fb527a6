package apply

import (
	"bytes"
	"path"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// keptAbove returns the origin of a path below a directory that fettle removed: the image of the path
// in the stored tree of the directory. If no stored tree contains the path, it returns now.
func (r *run) keptAbove(entries map[addr.Addr]journal.Entry, a addr.Addr, now image.Image) image.Image {
	if now.File == nil || now.File.Type != image.Absent || a.Kind() != addr.KindFile {
		return now
	}
	rel := path.Base(a.Path())
	for d := path.Dir(a.Path()); d != "/" && d != "."; d = path.Dir(d) {
		o := entries[addr.File(d)].Origin
		if o != nil && o.File != nil && o.File.Tree != "" {
			return r.inTree(o.File.Tree, rel, now)
		}
		rel = path.Join(path.Base(d), rel)
	}
	return now
}

// inTree returns the image of a path in a stored tree; a directory gets a stored tree of its own. If
// the tree cannot be read, it returns otherwise, and the restore reports the error.
func (r *run) inTree(tree, rel string, otherwise image.Image) image.Image {
	var found *image.File
	var below bytes.Buffer
	err := capture.ReadTree(r.Store, tree, func(e capture.TreeEntry) error {
		at := string(e.Rel)
		if at == rel {
			found = &e.File
		}
		sub, ok := strings.CutPrefix(at, rel+"/")
		if !ok {
			return nil
		}
		e.Rel, e.Same = []byte(sub), cutSame(e.Same, rel)
		line, err := journal.Marshal(e)
		below.Write(append(line, '\n'))
		return err
	})
	if err != nil || found == nil {
		return otherwise
	}
	if found.Type == image.Directory {
		if found.Tree, _, err = r.Store.Put(&below); err != nil {
			return otherwise
		}
	}
	return image.Image{File: found}
}

// cutSame returns the first name of a hard-linked inode relative to a directory. It returns nil if
// that name is outside of the directory, so the second name becomes a separate file.
func cutSame(same []byte, rel string) []byte {
	sub, ok := bytes.CutPrefix(same, []byte(rel+"/"))
	if !ok {
		return nil
	}
	return sub
}
