package cli

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// withCache calls fn with the cache of the machine; where there is no state
// directory, or App has no caches, with nil. What a cache cannot do costs only
// time, so it has no errors.
func (s *session) withCache(fn func(*listcache.Dir)) {
	m, err := s.machine()
	if err != nil || s.app.Cache == nil || !fileExists(m.State) {
		fn(nil)
		return
	}
	dir, done, err := s.app.Cache(m)
	if err != nil {
		fn(nil)
		return
	}
	defer func() { _ = done() }()
	fn(&dir)
}

// remembering calls read, in which the work tree is looked at, with what
// earlier looks found.
func (s *session) remembering(r *repo.Repo, read func() error) (err error) {
	s.withCache(func(dir *listcache.Dir) {
		if dir == nil {
			err = read()
			return
		}
		name := "tree\x00" + r.Top()
		m := repo.ParseMemory(dir.Load(name))
		r.Use(m, s.app.Now)
		if err = read(); err != nil {
			return
		}
		if b := m.Bytes(); b != nil {
			_ = dir.Save(name, b)
		}
	})
	return err
}

// listOf is compile for a revision: a committed one is compiled once.
func (s *session) listOf(src *source, in compile.Input) (res compile.Result, err error) {
	if src.rev.Dirty || src.rev.Commit == "" {
		return s.compileInput(in)
	}
	s.withCache(func(dir *listcache.Dir) {
		if dir == nil {
			res, err = s.compileInput(in)
			return
		}
		k := listcache.Key{Program: s.app.Build, Tree: src.rev.Digest, Prefix: src.prefix, Target: in.Target, Vars: in.Vars, Facts: in.Facts}
		ok := false
		if res, ok = dir.List(in.Tree, k); ok {
			return
		}
		warned := s.warned
		if res, err = s.compileInput(in); err == nil && s.warned == warned {
			_ = dir.Keep(in.Tree, k, res)
		}
	})
	return res, err
}
