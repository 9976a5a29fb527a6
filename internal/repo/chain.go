package repo

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// maxRaw is how large a commit or tree object may be that is given whole, in bytes.
const maxRaw = 8 << 20

// Chain has the objects that connect a directory to a commit, in git's format without the header
// that is part of an object's digest.
type Chain struct {
	Commit []byte
	// Trees are the tree objects from the top down to the parent of the requested directory. For
	// the top itself, it has only the top.
	Trees [][]byte
}

// Chain reads the objects between a commit, given by its full hash, and one of its directories, "."
// for the top. The content of each object matches its hash.
func (r *Repo) Chain(ctx context.Context, commit, dir string) (Chain, error) {
	if r.git == nil || !isObjectID(commit) {
		return Chain{}, fmt.Errorf("cannot read the objects of %q: it is not a commit of a git repository", shorten(commit))
	}
	dir, err := cleanPath("find directory", dir)
	if err != nil {
		return Chain{}, err
	}
	raw, err := r.rawObject(ctx, commit, "commit")
	if err != nil {
		return Chain{}, err
	}
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	out, next := Chain{Commit: raw}, strings.TrimPrefix(string(line), "tree ")
	parts := strings.Split(dir, "/")
	for _, name := range parts {
		if !isObjectID(next) {
			return Chain{}, fmt.Errorf("cannot find the directory %q in commit %s", dir, commit)
		}
		tree, err := r.rawObject(ctx, next, "tree")
		if err != nil {
			return Chain{}, err
		}
		out.Trees = append(out.Trees, tree)
		next = childDirectory(tree, name, len(next)/2)
	}
	if dir != "." && next == "" {
		return Chain{}, fmt.Errorf("cannot find the directory %q in commit %s", dir, commit)
	}
	return out, nil
}

func (r *Repo) rawObject(ctx context.Context, id, typ string) (raw []byte, err error) {
	err = r.batch.each(ctx, []string{id}, func(_ int, o object) error {
		if o.typ != typ || o.size > maxRaw {
			return &objectError{id, fmt.Sprintf("it is a %s of %d bytes instead of a %s of at most %d bytes", o.typ, o.size,
				typ, maxRaw)}
		}
		var err error
		raw, err = io.ReadAll(o.r)
		return err
	})
	return raw, err
}

// childDirectory is the name of the tree object of a directory in a tree object, "" when there is
// none.
func childDirectory(tree []byte, name string, idSize int) string {
	for len(tree) > 0 {
		head, rest, ok := bytes.Cut(tree, []byte{0})
		if !ok || len(rest) < idSize {
			return ""
		}
		if string(head) == "40000 "+name {
			return hex.EncodeToString(rest[:idSize])
		}
		tree = rest[idSize:]
	}
	return ""
}
