package repo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

// git returns an object by the name of its file. Except for commits, git does not check that the
// content matches the name. This package must check it, so that a commit determines all objects
// below it.

// objectError is about one object; its user may know at which path it is.
type objectError struct{ id, why string }

func (e *objectError) Error() string { return fmt.Sprintf("cannot read object %s: %s", e.id, e.why) }

// nameHash returns the hash with which git names content of a type and size; id, a name of the same
// repository, determines the algorithm.
func nameHash(id, typ string, size int64) hash.Hash {
	h := sha1.New()
	if len(id) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", typ, size)
	return h
}

// checked returns the content of an object. If the content does not match id, it returns an error
// instead of the end. Small content is checked before any of it is returned.
func checked(id, typ string, size int64, r *io.LimitedReader) (io.Reader, error) {
	c := &contentChecker{id: id, typ: typ, r: r, hash: nameHash(id, typ, size)}
	if size > keepFile {
		return c, nil
	}
	b, err := io.ReadAll(c)
	return bytes.NewReader(b), err
}

type contentChecker struct {
	id, typ string
	r       *io.LimitedReader
	hash    hash.Hash
}

func (c *contentChecker) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	if err == io.EOF && c.r.N > 0 {
		return n, &objectError{c.id, "git ended before its end"}
	}
	if err == io.EOF && hex.EncodeToString(c.hash.Sum(nil)) != c.id {
		return n, &objectError{c.id,
			fmt.Sprintf("the content of the %s does not match its name; run git fsck, and clone again", c.typ)}
	}
	return n, err
}

// checkTrees reads the trees of a commit, because ls-tree does not verify their names.
func (r *Repo) checkTrees(ctx context.Context, commit string, directories map[string]bool) error {
	top := ""
	err := r.batch.each(ctx, []string{commit}, func(_ int, o object) error {
		text, err := io.ReadAll(io.LimitReader(o.r, 80))
		line, _, _ := strings.Cut(string(text), "\n")
		top = strings.TrimPrefix(line, "tree ")
		return err
	})
	if err != nil {
		return err
	}
	if !isObjectID(top) {
		return fmt.Errorf("cannot read commit %s: it has no tree; run git fsck", commit)
	}
	ids := []string{top}
	for id := range directories {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return r.batch.each(ctx, slices.Compact(ids), func(_ int, o object) error {
		_, err := io.Copy(io.Discard, o.r)
		return err
	})
}
