package child

import (
	"path"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// The limits of content that the holder sends without a request. The child requests the rest of a
// large repository.
const (
	indexBytes   = 8 << 20   // names
	contentBytes = 1 << 20   // contents
	contentFile  = 16 << 10  // one file in another format
	sourceFile   = 128 << 10 // one file in the language
)

// indexer writes the message 'T': directories with their entries, then contents.
type indexer struct {
	tree          repo.Tree
	names         writer
	directories   int
	sources, rest []repo.Entry
}

func index(tree repo.Tree) []byte {
	x := &indexer{tree: tree}
	x.directory(".")
	var w writer
	w.int(x.directories)
	w.b = append(w.b, x.names.b...)
	var contents writer
	n := 0
	for _, e := range append(x.sources, x.rest...) {
		if len(contents.b)+int(e.Size) > contentBytes {
			continue
		}
		if data, err := tree.ReadFile(e.Path); err == nil {
			contents.text(e.Path)
			contents.text(string(data))
			n++
		}
	}
	w.int(n)
	w.b = append(w.b, contents.b...)
	return w.b
}

// directory writes one directory and the directories below it. A directory that cannot be read is
// omitted: a request for it returns the error.
func (x *indexer) directory(dir string) {
	entries, err := x.tree.ReadDir(dir)
	if err != nil || len(x.names.b) > indexBytes {
		return
	}
	var w writer
	w.text(dir)
	w.int(len(entries))
	for _, e := range entries {
		w.text(e.Path)
		w.num(uint64(e.Type))
		w.bool(e.Exec)
		w.num(uint64(e.Size))
		digest := ""
		if e.Type == repo.File {
			if d, size, err := x.tree.Digest(e.Path); err == nil && size == e.Size {
				digest = d
			}
			x.content(e)
		}
		w.text(digest)
	}
	x.names.b = append(x.names.b, w.b...)
	x.directories++
	for _, e := range entries {
		if e.Type == repo.Dir {
			x.directory(e.Path)
		}
	}
}

// content notes a file that the child will likely read.
func (x *indexer) content(e repo.Entry) {
	switch {
	case source.IsSource(path.Base(e.Path)) && e.Size <= sourceFile:
		x.sources = append(x.sources, e)
	case e.Size <= contentFile && path.Base(path.Dir(e.Path)) != "files":
		x.rest = append(x.rest, e)
	}
}

// known is the part of the tree that the holder sent without a request, by clean path.
type known struct {
	entries     map[string]repo.Entry
	digests     map[string]string
	directories map[string][]repo.Entry
	content     map[string][]byte
}

func readIndex(payload []byte) (*known, error) {
	k := &known{map[string]repo.Entry{}, map[string]string{}, map[string][]repo.Entry{}, map[string][]byte{}}
	r := &reader{b: payload}
	for range r.count(2) {
		dir := r.text()
		entries := make([]repo.Entry, r.count(5))
		for i := range entries {
			e := repo.Entry{Path: r.text(), Type: entryType(r), Exec: r.bool(), Size: int64(r.int())}
			entries[i] = e
			k.entries[e.Path] = e
			if d := r.text(); d != "" {
				k.digests[e.Path] = d
			}
		}
		k.directories[dir] = entries
	}
	for range r.count(2) {
		p := r.text()
		k.content[p] = r.bytes()
	}
	return k, r.end()
}

func entryType(r *reader) repo.EntryType {
	t := r.num()
	if t > uint64(repo.Symlink) {
		r.fail("the entry type %d", t)
	}
	return repo.EntryType(t)
}
