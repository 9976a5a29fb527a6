package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Blame returns the commit that last wrote one line of a file at rev, and the path that the file
// had in that commit. Lines are counted from 1. The Digest of the Revision is empty. rev is a
// commit, so uncommitted lines are not covered.
func (r *Repo) Blame(ctx context.Context, rev, path string, line int) (Revision, string, error) {
	at, err := r.Resolve(ctx, rev)
	if err != nil {
		return Revision{}, "", err
	}
	p, err := cleanPath("blame", path)
	if err != nil {
		return Revision{}, "", err
	}
	if line < 1 {
		return Revision{}, "", &pathError{"blame", path, "lines are counted from 1", fs.ErrInvalid}
	}
	// An empty --ignore-revs-file forgets the commits of the file that the
	// repository's configuration names, though git reads it all the same.
	out, err := r.git.output(ctx, "blame", "--no-textconv", "--ignore-revs-file=", "--porcelain", "-L",
		fmt.Sprintf("%d,%d", line, line), at.Commit, "--", p)
	if err != nil {
		return Revision{}, "", fmt.Errorf("cannot blame %q line %d: %w", path, line, withoutQuotes(err))
	}
	id, was := parseBlame(out)
	if !isObjectID(id) {
		return Revision{}, "", fmt.Errorf("cannot blame %q line %d: git answered %q", path, line, shorten(out))
	}
	info, err := r.commit(ctx, id)
	return info, was, err
}

// withoutQuotes hides the line that git quotes of a file named by
// blame.ignoreRevsFile: that can be any file which the caller may read.
func withoutQuotes(err error) error {
	var g *gitError
	if errors.As(err, &g) && strings.HasPrefix(g.message, "invalid object name") {
		return &gitError{g.command,
			"the file that blame.ignoreRevsFile names in the repository's configuration is not a list of commits; unset it: git config --unset blame.ignoreRevsFile"}
	}
	return err
}

// parseBlame reads the commit and the file name of blame --porcelain.
func parseBlame(out string) (id, file string) {
	id, _, _ = strings.Cut(out, " ")
	for text := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(text, "filename "); ok {
			file = strings.TrimSuffix(name, "\n")
			if unquoted, err := strconv.Unquote(file); err == nil {
				file = unquoted
			}
		}
	}
	return id, file
}

// Changed lists the paths that differ between two revisions, sorted. Renames
// count as two paths.
func (r *Repo) Changed(ctx context.Context, from, to string) ([]string, error) {
	a, err := r.Resolve(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.Resolve(ctx, to)
	if err != nil {
		return nil, err
	}
	out, err := r.git.output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff",
		"--no-textconv", a.Commit, b.Commit, "--")
	if err != nil {
		return nil, fmt.Errorf("cannot compare %q and %q: %w", from, to, err)
	}
	if out == "" {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}
