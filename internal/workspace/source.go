// Package workspace opens the repository of a command, and compiles step lists from it. Results for a
// commit are cached, so that a second command on the same commit reads almost nothing:
//
//	w := workspace.Workspace{Dir: ".", Language: language, Program: build, Now: time.Now, Cache: open}
//	src, err := w.Open(ctx, "") // the files as they are
//	defer src.Close()
//	targets, err := w.Inventory(src)
//	request, err := w.Request(src, compile.Input{Tree: src.Tree, Target: targets[0].Name})
//
// A failure of the cache costs only time, so it is never an error.
package workspace

import (
	"path"
	"sync"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// Source is an open repository at one revision. Several goroutines can use it at the same time.
type Source struct {
	Repo   *repo.Repo
	Tree   repo.Tree
	Rev    repo.Revision
	Prefix string // of Tree inside of the git repository, "." for its top
	// Enrolled means that the tree also has the targets of a fleet.
	Enrolled bool
	// None is the reason why there is no repository. Then the tree has only the targets of a fleet,
	// and Repo is nil.
	None error

	identify sync.Once // id and idErr
	id       repo.Identity
	idErr    error
}

// About names the repository in a query.
func (src *Source) About() compile.About { return compile.About{Tree: src.Tree} }

// Close closes the repository, which provides the content of blobs until then.
func (src *Source) Close() {
	if src.Repo != nil {
		_ = src.Repo.Close()
	}
}

// Committed reports whether the tree is exactly a commit.
func (src *Source) Committed() bool { return src.Rev.Commit != "" && !src.Rev.Dirty && !src.Enrolled }

// Directory returns the directory with the files of a repository.
func (src *Source) Directory() string { return path.Join(src.Repo.Top(), src.Prefix) }
