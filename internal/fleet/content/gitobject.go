package content

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/repo"
)

// naming is the object format of a repository: SHA-1 or SHA-256.
type naming struct {
	size   int    // bytes of a hash
	header string // the header of a commit with its signature
	hash   func() hash.Hash
}

// namingOf returns the object format for the hash of a commit.
func namingOf(commit string) (naming, error) {
	switch {
	case strings.Trim(commit, "0123456789abcdef") != "":
	case len(commit) == 2*sha1.Size:
		return naming{sha1.Size, "gpgsig", sha1.New}, nil
	case len(commit) == 2*sha256.Size:
		return naming{sha256.Size, "gpgsig-sha256", sha256.New}, nil
	}
	return naming{}, fmt.Errorf("%.80q is not the full hash of a commit", commit)
}

func (n naming) start(typ string, size int64) hash.Hash {
	h := n.hash()
	fmt.Fprintf(h, "%s %d\x00", typ, size)
	return h
}

// object returns the hash of an object, in hex.
func (n naming) object(typ string, raw []byte) string {
	h := n.start(typ, int64(len(raw)))
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}

// gitEntry is one entry of a tree object.
type gitEntry struct{ mode, name, id string }

const directoryMode = "40000"

// sortKey returns the key by which git sorts: names of directories have a final slash.
func (e gitEntry) sortKey() string {
	if e.mode == directoryMode {
		return e.name + "/"
	}
	return e.name
}

var gitModes = []string{directoryMode, "100644", "100755", "120000"}

// parseTree parses a tree object. It accepts only the form that git writes, which is stricter than
// git itself.
func (n naming) parseTree(raw []byte) ([]gitEntry, error) {
	var out []gitEntry
	names := map[string]bool{}
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		switch {
		case !ok || !spaced || len(rest) < n.size:
			return nil, errors.New("a tree object ends in the middle of an entry")
		case !slices.Contains(gitModes, mode):
			return nil, fmt.Errorf(
				"%.80q has the mode %.20q; only files, executable files, links and directories are supported", name, mode)
		case name == "" || strings.ContainsRune(name, '/'):
			return nil, fmt.Errorf("a tree object has an entry with the invalid name %.80q", name)
		case names[name]: // a file and a directory of the same name need not be adjacent
			return nil, fmt.Errorf("a tree object has the name %.80q twice", name)
		}
		names[name] = true
		e := gitEntry{mode, name, hex.EncodeToString(rest[:n.size])}
		if len(out) > 0 && out[len(out)-1].sortKey() >= e.sortKey() {
			return nil, fmt.Errorf("a tree object has %.80q in the wrong order", name)
		}
		out, raw = append(out, e), rest[n.size:]
	}
	return out, nil
}

// tree returns the hash of the tree object with these entries, in any order.
func (n naming) tree(entries []gitEntry) string {
	slices.SortFunc(entries, func(a, b gitEntry) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
	var b []byte
	for _, e := range entries {
		id, _ := hex.DecodeString(e.id)
		b = append(append(b, e.mode+" "+e.name+"\x00"...), id...)
	}
	return n.object("tree", b)
}

// entries returns the entries of the tree object of a bundle's root directory, computed from all
// content of the bundle.
func (n naming) entries(b *Bundle) ([]gitEntry, error) {
	directories := map[string][]gitEntry{}
	for _, it := range b.items {
		e, err := n.leaf(b, it)
		if err != nil {
			return nil, err
		}
		dir, name := splitPath(it.Path)
		e.name = name
		directories[dir] = append(directories[dir], e)
		for dir != "" { // all parent directories exist, even if they contain only directories
			dir, _ = splitPath(dir)
			if _, known := directories[dir]; !known {
				directories[dir] = nil
			}
		}
	}
	dirs := make([]string, 0, len(directories))
	for dir := range directories {
		dirs = append(dirs, dir)
	}
	// Longer paths first, so that a directory follows its content.
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(len(b), len(a)),
			cmp.Compare(a, b))
	})
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		above, name := splitPath(dir)
		directories[above] = append(directories[above], gitEntry{directoryMode, name, n.tree(directories[dir])})
	}
	out := directories[""]
	slices.SortFunc(out, func(a, b gitEntry) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
	return out, nil
}

func splitPath(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 0)], p[i+1:]
}

func (n naming) leaf(b *Bundle, it repo.Item) (gitEntry, error) {
	if it.Type == repo.Symlink {
		return gitEntry{mode: "120000", id: n.object("blob", []byte(it.Target))}, nil
	}
	mode := "100644"
	if it.Exec {
		mode = "100755"
	}
	h := n.start("blob", it.Size)
	r, err := b.tree.Open(it.Path)
	if err != nil {
		return gitEntry{}, err
	}
	defer r.Close()
	_, err = io.Copy(h, r)
	return gitEntry{mode: mode, id: hex.EncodeToString(h.Sum(nil))}, err
}
