package repo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// WorkTree reads the current files: tracked files that exist, and untracked files that are not
// ignored; in a directory without git, all files. If they equal the commit that is checked out,
// byte for byte, the revision is that commit and not Dirty. Filters (autocrlf, LFS) are never run,
// so a file that a filter would change counts as changed.
//
// The content is the content at this call. If a file changes later, reading it fails; it never
// returns a mixture.
func (r *Repo) WorkTree(ctx context.Context) (Tree, Revision, error) {
	if r.bare {
		return nil, Revision{}, fmt.Errorf("cannot read work tree: %q is a bare repository; name a revision: --rev main",
			r.top)
	}
	if err := r.ready(ctx); err != nil {
		return nil, Revision{}, err
	}
	snap, err := r.snapshot(ctx)
	if err != nil {
		return nil, Revision{}, err
	}
	defer snap.leave()
	if r.git == nil {
		err = snap.walk(".")
	} else {
		err = r.listWorkTree(ctx, snap)
	}
	if rerr := snap.readers.wait(); rerr != nil {
		err = rerr
	}
	if err != nil {
		return nil, Revision{}, fmt.Errorf("cannot read work tree %q: %w", r.top, err)
	}
	tree, err := newFiles(snap.nodes, snap.open)
	if err != nil {
		return nil, Revision{}, err
	}
	info, err := r.compare(ctx, snap.nodes)
	if err != nil {
		return nil, Revision{}, err
	}
	info.Digest, err = TreeDigest(tree)
	if err == nil && r.memory != nil {
		r.remember(ctx, snap, info)
	}
	return tree, info, err
}

// snapshot begins a look at the files.
func (r *Repo) snapshot(ctx context.Context) (*snapshot, error) {
	root, err := r.openRoot()
	if err != nil {
		return nil, err
	}
	s := &snapshot{ctx: ctx, root: root, tally: tally{limits: r.limits}, hash: r.hash, keep: keepTotal,
		dirs: map[string]bool{".": true}, memory: r.memory, now: r.now}
	if r.memory != nil {
		r.memory.begin()
		s.began = r.now()
	}
	return s, nil
}

// remember records the result of a look. A work tree that equals a commit, file by file, is
// recognized without git as long as it is unchanged.
func (r *Repo) remember(ctx context.Context, s *snapshot, info Revision) {
	traces, directories := s.traces, map[string]stamp(nil)
	h, settled := lookHead{}, r.git != nil && info.Commit != "" && !info.Dirty && s.settled()
	if settled {
		h, settled = r.promise(s.began, info, "")
	}
	if settled {
		found, extra, err := r.watch(ctx, s.began, s.traces)
		if err != nil {
			h = lookHead{}
		} else {
			directories, traces = found, append(traces, extra...)
		}
	}
	r.memory.note(h, traces, directories)
}

func (r *Repo) openRoot() (*os.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root != nil {
		return r.root, nil
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, fmt.Errorf("cannot read work tree: %w", err)
	}
	r.root = root
	return root, nil
}

// listWorkTree reads the files that git lists.
func (r *Repo) listWorkTree(ctx context.Context, snap *snapshot) error {
	seen := map[string]bool{}
	return r.git.stream(ctx, func(out io.Reader) error {
		return scanRecords(out, func(line string) error {
			name, err := listedName(line)
			if err != nil || seen[name] {
				return err
			}
			seen[name] = true
			return snap.add(name)
		})
	}, "ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
}

// listedName reads a line of ls-files -t --stage: "? NAME" for an untracked
// file, "H MODE ID STAGE\tNAME" for a tracked one.
func listedName(line string) (string, error) {
	if name, ok := strings.CutPrefix(line, "? "); ok {
		if dir, isDir := strings.CutSuffix(name, "/"); isDir {
			return "", &pathError{"use", dir, "it is a git repository of its own; move it away or name it in .gitignore", nil}
		}
		return name, nil
	}
	meta, name, ok := strings.Cut(line, "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 4 {
		return "", fmt.Errorf("git answered %q", shorten(line))
	}
	if f[1] == "160000" {
		return "", submoduleError(name)
	}
	return name, nil
}

// compare compares the files with HEAD.
func (r *Repo) compare(ctx context.Context, nodes []*node) (Revision, error) {
	if r.git == nil {
		return Revision{}, nil
	}
	if _, err := r.git.output(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil && ctx.Err() == nil {
		return Revision{Dirty: true}, nil // no commit yet: all is uncommitted
	}
	head, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return Revision{}, err
	}
	committed, err := r.list(ctx, head.Commit)
	if err != nil {
		return Revision{}, inRevision(err, "HEAD")
	}
	head.Dirty = !sameContent(nodes, committed)
	return head, nil
}

func sameContent(a, b []*node) bool {
	if len(a) != len(b) {
		return false
	}
	was := make(map[string]*node, len(b))
	for _, n := range b {
		was[n.Path] = n
	}
	for _, n := range a {
		w := was[n.Path]
		if w == nil || w.id != n.id || w.Type != n.Type || w.Exec != n.Exec {
			return false
		}
	}
	return true
}
