package repo

import (
	"maps"
	"slices"
)

// Special is an entry of a MapTree that is not a plain file. Make one with
// Exec or Link.
type Special struct {
	path, text string
	typ        EntryType
}

// Exec is an executable file.
func Exec(path, text string) Special { return Special{path, text, File} }

// Link is a symbolic link.
func Link(path, target string) Special { return Special{path, target, Symlink} }

// MapTree returns a tree in memory, path to content, for tests and for embedded content. Paths must
// comply with the rules of repositories. After an error in a path, all uses of the tree return that
// error.
//
//	t := repo.MapTree(map[string]string{"fettle.hcl": text}, repo.Exec("bin/x", script))
func MapTree(texts map[string]string, more ...Special) Tree {
	var list []*node
	for _, p := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, memNode(Special{p, texts[p], File}, false))
	}
	for _, s := range more {
		list = append(list, memNode(s, s.typ == File))
	}
	for _, n := range list {
		if err := checkEntryPath(n.Path); err != nil {
			return brokenTree{err}
		}
	}
	t, err := newFiles(list, nil)
	if err != nil {
		return brokenTree{err}
	}
	return t
}

func memNode(s Special, exec bool) *node {
	e := Entry{Path: s.path, Type: s.typ, Exec: exec, Size: int64(len(s.text))}
	if s.typ == Symlink {
		return &node{Entry: e, target: s.text}
	}
	return &node{Entry: e, data: []byte(s.text), digest: digestOf([]byte(s.text))}
}
