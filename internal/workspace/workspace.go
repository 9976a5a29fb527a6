package workspace

import (
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// Workspace opens repositories for one command. Dir, Language and Now must be set.
type Workspace struct {
	Dir      string // the repository, or a directory inside of it
	Limits   repo.Limits
	Language Language
	// Configure sets the limits and the identities of the compiler, before a repository is read; nil: they
	// are set.
	Configure func()
	// Prepare starts the compiler, because a question follows soon; nil: it has started.
	Prepare func()
	// Cache opens the directory of the cache. An error means that there is none; nil: there is none.
	Cache   func() (host.FS, func() error, error)
	Program string // the build of this binary: cached lists depend on it
	Now     func() time.Time
	// Warn receives the warnings of each compilation; nil: they are ignored.
	Warn func(diag.List)
	// Adopt lets requests replace the applied state of another repository or target.
	Adopt bool
}

// Language reads repositories and compiles lists. Its answers depend only on its input.
type Language interface {
	Compile(in compile.Input) (compile.Result, diag.List)
	// Inventory returns the known data of the targets except facts, sorted by name.
	Inventory(tree repo.Tree) ([]query.Target, diag.List)
}

// withCache calls fn with the cache, or with nil if there is none.
func (w Workspace) withCache(fn func(*listcache.Dir)) {
	if w.Cache == nil {
		fn(nil)
		return
	}
	dir, done, err := w.Cache()
	if err != nil {
		fn(nil)
		return
	}
	defer func() { _ = done() }()
	fn(&listcache.Dir{FS: dir, Program: w.Program})
}

// Compile compiles one list, and passes the warnings on.
func (w Workspace) Compile(in compile.Input) (compile.Result, error) {
	res, _, err := w.compile(in)
	return res, err
}

// compile is Compile with the number of warnings.
func (w Workspace) compile(in compile.Input) (compile.Result, int, error) {
	res, ds := w.Language.Compile(in)
	if err := ds.Err(); err != nil {
		return compile.Result{}, 0, err
	}
	if w.Warn != nil {
		w.Warn(ds)
	}
	return res, len(ds), nil
}
