package workspace

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// Request compiles a list of an open repository for an executor. A committed revision is compiled once;
// afterwards the list is read when it is needed. A list with warnings is compiled each time, so that each
// command shows them.
func (w Workspace) Request(src *Source, in compile.Input) (executor.Request, error) {
	req, err := w.compiled(src, in)
	if err == nil && src.Repo != nil {
		req.Adopt = w.Adopt
		req.Repository, err = w.identityOf(src)
	}
	return req, err
}

// compiled returns a request without the identity of its repository.
func (w Workspace) compiled(src *Source, in compile.Input) (req executor.Request, err error) {
	fresh := func() (compile.Result, int, error) {
		res, warnings, err := w.compile(in)
		if req = wanted.Request(res, src.Rev); err == nil {
			w.goesOn(&req, res.Outputs, res.Deferred, src, in)
		}
		return res, warnings, err
	}
	if !src.Committed() {
		_, _, err = fresh()
		return req, err
	}
	w.withCache(func(dir *listcache.Dir) {
		if dir == nil {
			_, _, err = fresh()
			return
		}
		k := listcache.Key{Program: w.Program, Tree: src.Rev.Digest, Prefix: src.Prefix, Target: in.Target,
			Vars: in.Vars, Facts: in.Facts, Outputs: in.Outputs}
		if kept, ok := dir.Find(k); ok {
			req = w.cached(kept, in, src.Rev)
			w.goesOn(&req, kept.Outputs, kept.Deferred, src, in)
			return
		}
		var res compile.Result
		var warnings int
		if res, warnings, err = fresh(); err == nil && warnings == 0 {
			_ = dir.Keep(in.Tree, k, res)
		}
	})
	return req, err
}

// goesOn adds to a request the outputs of commands that it was made with, and the function that makes it
// with other outputs.
func (w Workspace) goesOn(req *executor.Request, outputs []compile.Output, held []compile.Deferred, src *Source,
	in compile.Input) {
	wanted.GoesOn(req, outputs, held, in.Outputs, func(known executor.Known) (executor.Request, error) {
		in.Outputs = known
		return w.Request(src, in)
	})
}

// cached returns the request for a cached list. If the list is no longer cached when it is needed, it is
// compiled again.
func (w Workspace) cached(kept *listcache.Kept, in compile.Input, rev repo.Revision) executor.Request {
	load := func() (executor.Loaded, error) {
		res, ok := w.load(kept, in)
		if !ok {
			var err error
			if res, err = w.Compile(in); err != nil {
				return executor.Loaded{}, err
			}
		}
		return executor.Loaded{List: res.List, Blobs: res.Blobs, States: wanted.States(res), Secrets: res.Secrets}, nil
	}
	return executor.Request{Target: kept.Target, Policy: kept.Policy, Revision: rev, Load: load,
		ListDigest: kept.List, Repair: true}
}

// load reads a cached list.
func (w Workspace) load(kept *listcache.Kept, in compile.Input) (res compile.Result, ok bool) {
	w.withCache(func(dir *listcache.Dir) {
		if dir == nil {
			return
		}
		var err error
		res, err = dir.Result(kept, in.Tree)
		ok = err == nil
	})
	return res, ok
}
