package repo

import (
	"context"
	"io"
	"strings"
	"time"
)

// Recall returns the result of At for a revision, or of WorkTree for "". The Memory in use must
// have it, and nothing may have changed since. Recall runs no program and reads no file of the
// tree: it checks the status of each file and directory once. The content of a revision was read
// completely when it was recorded. In case of doubt ok is false, and the caller must use At or
// WorkTree.
func (r *Repo) Recall(rev string) (t Tree, info Revision, ok bool) {
	if rev == "" {
		return r.recallWork()
	}
	return r.recallAt(r.name(rev))
}

// recallWork is Recall of the work tree.
func (r *Repo) recallWork() (Tree, Revision, bool) {
	l := r.memory.look()
	if r.git == nil || l == nil || !l.Look || l.Asked != "" || !l.holds(r) || !l.same(r.top) {
		return nil, Revision{}, false
	}
	root, err := r.openRoot()
	if err != nil {
		return nil, Revision{}, false
	}
	snap := &snapshot{root: root}
	return &lazyTree{look: l, read: snap.open}, l.Revision, true
}

// holds reports whether the look was at this repository, with a result within the limits.
func (l *look) holds(r *Repo) bool {
	was := l.Limits
	return l.Origin.Top == r.top && l.Origin.GitDir == r.git.gitDir && l.Origin.Exe == program(r.git.exe) &&
		was.Files <= r.limits.Files && was.FileSize <= r.limits.FileSize && was.Total <= r.limits.Total
}

// naming is the resolution of a revision without git: an object, and the branch if the revision is
// a branch.
type naming struct {
	id, branch string
	ok         bool
}

// name resolves rev if a memory is in use.
func (r *Repo) name(rev string) naming {
	if r.git == nil || r.memory == nil || checkRev(rev) != nil {
		return naming{}
	}
	refs, ok := openRefs(r.git.gitDir)
	if !ok {
		return naming{}
	}
	id, branch, ok := refs.resolve(rev)
	return naming{id, branch, ok}
}

// recallAt returns the recorded tree of a commit. A commit never changes, nor does a tag object for
// it; only the object of a name changes.
func (r *Repo) recallAt(named naming) (Tree, Revision, bool) {
	l := r.memory.look()
	if !named.ok || l == nil || !l.Look || l.Asked == "" || named.id != l.Asked && named.id != l.Revision.Commit {
		return nil, Revision{}, false
	}
	if !l.holds(r) || !sameGitFiles(l.Git) {
		return nil, Revision{}, false
	}
	info := l.Revision
	info.Branch = named.branch
	return &lazyTree{look: l, read: r.openRemembered}, info, true
}

// openRemembered reads a blob whose digest was found by an earlier process.
func (r *Repo) openRemembered(n *node) (io.ReadCloser, error) {
	f, err := r.openBlob(n)
	if err != nil {
		return nil, err
	}
	return verified(n, f, func() { _ = f.Close() }), nil
}

// rememberAt records the tree of a commit. If the revision names another object, it must be a tag
// of that commit.
func (r *Repo) rememberAt(ctx context.Context, began time.Time, named naming, info Revision, nodes []*node) {
	if named.id != info.Commit {
		out, err := r.git.output(ctx, "rev-parse", "--verify", "--end-of-options", named.id+"^{commit}")
		if err != nil || strings.TrimSpace(out) != info.Commit {
			return
		}
	}
	h, ok := r.promise(began, info, named.id)
	if !ok {
		return
	}
	traces := make([]trace, len(nodes))
	for i, n := range nodes {
		traces[i] = trace{path: n.Path, node: n}
	}
	r.memory.note(h, traces, nil)
}
