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

// keptAbove is what was at an absent path before fettle removed a directory above
// it, which is the origin of everything that was in it; the image itself where no
// kept tree has the path.
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

// inTree is the image of a path in a kept tree, with a tree of its own for a
// directory. A tree that cannot be read is reported when it is restored.
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

// cutSame is the first name of an inode, relative to a directory; nil for one that
// is outside of it, whose second name becomes a file of its own.
func cutSame(same []byte, rel string) []byte {
	sub, ok := bytes.CutPrefix(same, []byte(rel+"/"))
	if !ok {
		return nil
	}
	return sub
}
