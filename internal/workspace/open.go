package workspace

import (
	"context"
	"hash/crc32"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// Open opens the repository at a revision; "" is the files as they are. The error is ErrNoRepository if
// there is no main file in the directory or above. The caller closes the source.
func (w Workspace) Open(ctx context.Context, rev string) (*Source, error) {
	r, err := repo.OpenWith(ctx, w.Dir, w.Limits)
	if err != nil {
		return nil, err
	}
	if w.Configure != nil {
		w.Configure()
	}
	if r, err = w.plainDirectory(ctx, r); err != nil {
		return nil, err
	}
	var src *Source
	err = w.remembering(r, rev, func() error {
		src, err = w.read(ctx, r, rev)
		return err
	})
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return src, nil
}

// plainDirectory moves a repository without git to the parent directory with the main file. Without a
// main file, it refuses before it reads any other file: the directory could be a home directory.
func (w Workspace) plainDirectory(ctx context.Context, r *repo.Repo) (*repo.Repo, error) {
	if r.IsGit() {
		return r, nil
	}
	dir := r.Top()
	for !HasMain(dir, func(name string) bool { _, err := os.Stat(name); return err == nil }) {
		if dir == filepath.Dir(dir) {
			_ = r.Close()
			return nil, NoMain(r.Top())
		}
		dir = filepath.Dir(dir)
	}
	if dir == r.Top() {
		return r, nil
	}
	_ = r.Close()
	return repo.OpenWith(ctx, dir, w.Limits)
}

// read returns a cached tree, or reads it. Only in the second case it starts the compiler, because the
// results for a cached tree can be cached too.
func (w Workspace) read(ctx context.Context, r *repo.Repo, rev string) (*Source, error) {
	tree, info, known := r.Recall(rev)
	if !known && w.Prepare != nil {
		w.Prepare()
	}
	var err error
	switch {
	case known:
	case rev == "":
		tree, info, err = r.WorkTree(ctx)
	default:
		tree, info, err = r.At(ctx, rev)
	}
	if err != nil {
		return nil, err
	}
	src := &Source{Repo: r, Tree: tree, Rev: info}
	if src.Prefix, err = findMain(src.Tree, r.Prefix()); err != nil {
		return nil, NoMain(path.Join(r.Top(), r.Prefix()))
	}
	if src.Prefix != "." {
		src.Tree = repo.Sub(src.Tree, src.Prefix)
	}
	return src, nil
}

// remembering calls read, which reads the repository at a revision, with the cached results of earlier
// reads.
func (w Workspace) remembering(r *repo.Repo, rev string, read func() error) (err error) {
	w.withCache(func(dir *listcache.Dir) {
		if dir == nil {
			err = read()
			return
		}
		name := memoryName(r.Top(), rev)
		m := repo.ParseMemory(dir.Load(name))
		r.Use(m, w.Now)
		if err = read(); err != nil {
			return
		}
		if b := m.Bytes(); b != nil {
			_ = dir.Save(name, b)
		}
	})
	return err
}

// memoryName returns the name of the cached results of reads. A few revisions have a name of their own, so
// that two of them can be compared again and again.
func memoryName(top, rev string) string {
	if rev == "" {
		return "tree\x00" + top
	}
	return "revision\x00" + strconv.Itoa(int(crc32.ChecksumIEEE([]byte(rev))%4)) + "\x00" + top
}
