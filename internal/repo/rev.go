package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Resolve returns the commit that rev names: a branch, a tag, a hash or its beginning, HEAD~1. The
// Digest of the result is empty, because only the commit is read. Errors contain suggestions.
func (r *Repo) Resolve(ctx context.Context, rev string) (Revision, error) {
	if r.git == nil {
		return Revision{}, fmt.Errorf("cannot find revision %q: %q is not a git repository. "+
			"Omit the revision to use the files as they are, or create a repository: git init %s", rev, r.top, r.top)
	}
	if err := checkRev(rev); err != nil {
		return Revision{}, err
	}
	if err := r.ready(ctx); err != nil {
		return Revision{}, err
	}
	id, err := r.commitID(ctx, rev)
	if err != nil {
		return Revision{}, err
	}
	info, err := r.commit(ctx, id)
	if err != nil {
		return Revision{}, err
	}
	info.Branch = r.branchOf(ctx, rev)
	return info, nil
}

// checkRev allows names of commits, and refuses texts that git would read as an option, a range, a
// search or a path.
func checkRev(rev string) error {
	refuse := func(why string) error {
		return fmt.Errorf("cannot find revision %q: %s; give a branch, a tag, a commit or something like HEAD~1",
			shorten(rev), why)
	}
	switch {
	case rev == "":
		return refuse("it is empty")
	case len(rev) > 256:
		return refuse("it is longer than 256 bytes")
	case strings.HasPrefix(rev, "-"):
		return refuse("it begins with '-'")
	case strings.Contains(rev, ".."):
		return refuse("it contains '..'")
	case strings.ContainsAny(rev, ":\\*?[ ") || strings.Contains(rev, "^{/") || strings.Contains(rev, "^!"):
		return refuse("it contains a character that names of commits cannot contain")
	case strings.IndexFunc(rev, unicode.IsControl) >= 0:
		return refuse("it contains a control character")
	}
	return nil
}

func (r *Repo) commitID(ctx context.Context, rev string) (string, error) {
	var out strings.Builder
	stderr, err := r.git.run(ctx, func(text io.Reader) error {
		_, err := io.Copy(&out, io.LimitReader(text, 1<<10))
		return err
	}, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if ctx.Err() != nil || errors.Is(err, errSilent) {
		return "", err
	}
	if strings.Contains(stderr, "is ambiguous") && !strings.Contains(stderr, "short object ID") {
		return "", fmt.Errorf(
			"cannot find revision %q: several branches or tags have this name; use refs/heads/%s or refs/tags/%s", rev, rev, rev)
	}
	id := strings.TrimSpace(out.String())
	if err == nil && isObjectID(id) {
		return id, nil
	}
	return "", r.unknownRev(ctx, rev, stderr)
}

func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// unknownRev explains why rev names nothing.
func (r *Repo) unknownRev(ctx context.Context, rev, stderr string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("cannot find revision %q in %q: %s", rev, r.top, fmt.Sprintf(format, args...))
	}
	if strings.Contains(stderr, "short object ID") {
		return fail("several objects begin with it; add more of its digits")
	}
	names, err := r.refNames(ctx)
	if err != nil {
		return fail("%v", err)
	}
	if len(names) == 0 {
		return fail("it has no commit yet; commit first: git commit")
	}
	base := rev[:strings.IndexAny(rev+"~", "~^@")]
	if near := nearest(base, names, 3); len(near) > 0 && near[0] != base {
		return fail("there is no such branch, tag or commit. Did you mean %s?", quoteList(near))
	}
	if shallow, _ := os.Stat(filepath.Join(r.git.gitDir, "shallow")); shallow != nil {
		return fail("the clone is shallow and may end before it; fetch the rest: git fetch --unshallow")
	}
	if base != rev && (base == "HEAD" || slices.Contains(names, base)) {
		return fail("%q has no such ancestor, or is not a commit", base)
	}
	if isHex(rev) {
		return fail("no commit here begins with it; fetch it first: git fetch")
	}
	return fail("there is no such branch, tag or commit. There is %s", quoteList(names[:min(5, len(names))]))
}

func isHex(s string) bool { return len(s) >= 4 && strings.Trim(s, "0123456789abcdefABCDEF") == "" }

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// refNames returns the short names of branches, tags and remote branches.
func (r *Repo) refNames(ctx context.Context) ([]string, error) {
	out, err := r.git.output(ctx, "for-each-ref", "--count=2000", "--format=%(refname)", "refs/heads", "refs/tags",
		"refs/remotes")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) {
		names = append(names, shortRef(strings.TrimSpace(line)))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return ref
}

// branchOf returns the branch that rev names, "" if it names another object. HEAD names the branch
// that is checked out.
func (r *Repo) branchOf(ctx context.Context, rev string) string {
	out, err := r.git.output(ctx, "rev-parse", "--verify", "--symbolic-full-name", "--end-of-options", rev)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(out) {
		ref := strings.TrimSpace(line)
		if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/remotes/") {
			return shortRef(ref)
		}
	}
	return ""
}

// commit reads the data of a commit.
func (r *Repo) commit(ctx context.Context, id string) (Revision, error) {
	var text []byte
	err := r.batch.each(ctx, []string{id}, func(_ int, o object) error {
		if o.typ != "commit" {
			return fmt.Errorf("cannot read commit %s: it is a %s", id, o.typ)
		}
		var err error
		text, err = io.ReadAll(io.LimitReader(o.r, 1<<20))
		return err
	})
	if err != nil {
		return Revision{}, err
	}
	return parseCommit(id, string(text))
}

// parseCommit reads a commit object. All of its text may be hostile.
func parseCommit(id, text string) (Revision, error) {
	rev := Revision{Commit: id}
	header, message, _ := strings.Cut(text, "\n\n")
	found := false
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case key == "author" && rev.Author == "":
			rev.Author, _ = splitPerson(value)
		case key == "committer" && !found:
			_, rev.Time = splitPerson(value)
			found = true
		}
	}
	if !found {
		return Revision{}, errors.New("cannot read commit " + id + ": it has no committer; run: git fsck")
	}
	first, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	rev.Subject = shorten(plainText(first))
	return rev, nil
}

// splitPerson reads "Name <mail> 1700000000 +0100".
func splitPerson(s string) (who string, when int64) {
	i := strings.LastIndex(s, ">")
	if i < 0 {
		return shorten(plainText(s)), 0
	}
	if f := strings.Fields(s[i+1:]); len(f) > 0 {
		when, _ = strconv.ParseInt(f[0], 10, 64)
	}
	return shorten(plainText(s[:i+1])), when
}

// plainText removes characters from foreign text that affect a terminal or a reader of JSON.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || dropIgnorable(r) < 0 || turnsText(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	return strings.TrimSpace(s)
}
