package repo

import "io"

// Item is one file or link of a tree whose content is stored elsewhere.
type Item struct {
	Path string // slash path from the top
	Type EntryType
	Exec bool
	Size int64 // bytes of a file
	// Digest is "sha256:hex" of a file's content.
	Digest string
	Target string // of a link
}

// TreeOf returns the tree of some files and links. Directories follow from their paths. The rules
// for names are the rules of repositories. open must return the content of a file from its
// beginning, at each call. If the content does not match the item's digest, reading it to its end
// fails. The items are not retained.
func TreeOf(items []Item, open func(Item) (io.ReadCloser, error)) (Tree, error) {
	list := make([]*node, 0, len(items))
	known := make(map[*node]Item, len(items))
	for _, it := range items {
		n := &node{Entry: Entry{Path: it.Path, Type: it.Type, Exec: it.Exec, Size: it.Size}, digest: it.Digest,
			target: it.Target}
		if err := checkEntryPath(it.Path); err != nil {
			return nil, err
		}
		switch it.Type {
		case File:
		case Symlink:
			n.Size = int64(len(it.Target))
			if err := checkTarget(it.Path, it.Target); err != nil {
				return nil, err
			}
		default:
			return nil, &pathError{"use repository entry", it.Path, "it is neither a file nor a link", nil}
		}
		list = append(list, n)
		known[n] = it
	}
	return newFiles(list, func(n *node) (io.ReadCloser, error) {
		r, err := open(known[n])
		if err != nil {
			return nil, &pathError{"open", n.Path, err.Error(), err}
		}
		return verified(n, r, func() { _ = r.Close() }), nil
	})
}
