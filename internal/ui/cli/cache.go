package cli

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"strconv"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wanted"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// withCache calls fn with the cache, or with nil if there is none. A failure of the cache costs only
// time, so there are no errors.
func withCache(s *Session, fn func(*listcache.Dir)) {
	dir, done, err := s.openCache()
	if err != nil {
		fn(nil)
		return
	}
	defer func() { _ = done() }()
	fn(&listcache.Dir{FS: dir, Program: s.App.Build})
}

// openCache opens the state directory of the machine. A user who cannot open it and works on other
// machines has a cache directory of their own, so that read-only commands leave nothing behind.
func (s *Session) openCache() (host.FS, func() error, error) {
	if s.cache != nil {
		return s.cache, func() error { return nil }, nil
	}
	m, err := s.Machine()
	if err != nil || s.App.Beside == nil {
		return nil, nil, errNoCache
	}
	if FileExists(m.State) {
		if dir, done, err := s.App.Beside(m); err == nil {
			return dir, done, nil
		}
	}
	if s.App.OwnCache == nil || len(s.Words) == 0 && s.ConnectOpts.SSH == "" {
		return nil, nil, errNoCache
	}
	if m.State, err = s.App.OwnCache(); err != nil {
		return nil, nil, err
	}
	return s.App.Beside(m)
}

// keptLists is the largest number of targets whose lists are cached. With two files each, they use
// less than half of the cache.
const keptLists = 200

// openCache opens the cache for the lists of so many targets.
func (cr *TargetSet) openCache(targets int) {
	if targets > keptLists || !cr.Source.committed() {
		return
	}
	if dir, done, err := cr.Session.openCache(); err == nil {
		cr.cache, cr.uncache = dir, done
	}
}

// remembering calls read, which reads the repository at a revision, with the cached results of earlier
// reads.
func remembering(s *Session, r *repo.Repo, rev string, read func() error) (err error) {
	withCache(s, func(dir *listcache.Dir) {
		if dir == nil {
			err = read()
			return
		}
		name := memoryName(r.Top(), rev)
		m := repo.ParseMemory(dir.Load(name))
		r.Use(m, s.App.Now)
		if err = read(); err != nil {
			return
		}
		if b := m.Bytes(); b != nil {
			_ = dir.Save(name, b)
		}
	})
	return err
}

// memoryName is where the memory of a tree is kept. A few revisions have a
// place of their own, so that two can be compared again and again.
func memoryName(top, rev string) string {
	if rev == "" {
		return "tree\x00" + top
	}
	return "revision\x00" + strconv.Itoa(int(crc32.ChecksumIEEE([]byte(rev))%4)) + "\x00" + top
}

// Targets are the names that the repository declares.
func (s *Session) Targets(src *Source) ([]string, error) {
	all, err := Inventory(s, src)
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names, err
}

// Inventory returns the known data of the targets without facts. It depends only on the content of the
// repository, so the inventory of a commit is read once.
func Inventory(s *Session, src *Source) (all []query.Target, err error) {
	ask := func() error {
		found, ds := s.App.Language.Inventory(src.Tree)
		all = found
		return ds.Err()
	}
	if !src.committed() {
		return all, ask()
	}
	withCache(s, func(dir *listcache.Dir) {
		if dir == nil {
			err = ask()
			return
		}
		slot := "inventory\x00" + src.Prefix
		var was struct {
			Tree    string
			Targets []query.Target
		}
		if json.Unmarshal(dir.Load(slot), &was) == nil && was.Tree == src.Rev.Digest {
			all = was.Targets
			return
		}
		if err = ask(); err != nil {
			return
		}
		was.Tree, was.Targets = src.Rev.Digest, all
		if b, err := json.Marshal(was); err == nil {
			_ = dir.Save(slot, b)
		}
	})
	return all, err
}

// ListOf is compile and request for a revision: a committed one is compiled
// once, and its list is read when it is needed.
func (s *Session) ListOf(src *Source, in compile.Input) (executor.Request, error) {
	req, err := s.compiledOf(src, in)
	if err == nil && src.Repo != nil {
		req.Adopt = s.Adopt
		req.Repository, err = identityOf(s, src)
	}
	return req, err
}

// identityOf is the identity of an open repository. The history of a commit is read once.
func identityOf(s *Session, src *Source) (id repo.Identity, err error) {
	src.identify.Do(func() {
		withCache(s, func(dir *listcache.Dir) { src.id, src.idErr = readIdentity(s.Printer, src, dir) })
	})
	return src.id, src.idErr
}

func readIdentity(s *Printer, src *Source, dir *listcache.Dir) (repo.Identity, error) {
	slot := "identity\x00" + src.Repo.Top() + "\x00" + src.Prefix
	var was struct {
		Commit string
		repo.Identity
	}
	if dir != nil && src.Rev.Commit != "" && json.Unmarshal(dir.Load(slot), &was) == nil && was.Commit == src.Rev.Commit {
		return was.Identity, nil
	}
	id, err := src.Repo.Identity(context.Background(), src.Rev.Commit, src.Prefix)
	if err != nil || dir == nil || id.Root == "" { // a shallow clone may become whole
		return id, err
	}
	was.Commit, was.Identity = src.Rev.Commit, id
	if b, err := json.Marshal(was); err == nil {
		_ = dir.Save(slot, b)
	}
	return id, nil
}

// compiledOf is a request without the identity of its repository.
func (s *Session) compiledOf(src *Source, in compile.Input) (req executor.Request, err error) {
	fresh := func() (compile.Result, error) {
		res, err := compileInput(s, in)
		if req = wanted.Request(res, src.Rev); err == nil {
			goesOn(s, &req, res.Outputs, res.Deferred, src, in)
		}
		return res, err
	}
	if !src.committed() {
		_, err = fresh()
		return req, err
	}
	withCache(s, func(dir *listcache.Dir) {
		if dir == nil {
			_, err = fresh()
			return
		}
		k := listcache.Key{Program: s.App.Build, Tree: src.Rev.Digest, Prefix: src.Prefix, Target: in.Target, Vars: in.Vars,
			Facts: in.Facts, Outputs: in.Outputs}
		if kept, ok := dir.Find(k); ok {
			req = keptRequest(s, kept, in, src.Rev)
			goesOn(s, &req, kept.Outputs, kept.Deferred, src, in)
			return
		}
		warned := s.warned
		var res compile.Result
		if res, err = fresh(); err == nil && s.warned == warned {
			_ = dir.Keep(in.Tree, k, res)
		}
	})
	return req, err
}

// goesOn adds to a request what it was made with of the outputs of commands, and
// how to make it with others.
func goesOn(s *Session, req *executor.Request, outputs []compile.Output, held []compile.Deferred, src *Source,
	in compile.Input) {
	wanted.GoesOn(req, outputs, held, in.Outputs, func(known executor.Known) (executor.Request, error) {
		in.Outputs = known
		return s.ListOf(src, in)
	})
}

// keptRequest is request for a list that was kept. Should it be gone when it is
// needed, it is compiled again.
func keptRequest(s *Session, kept *listcache.Kept, in compile.Input, rev repo.Revision) executor.Request {
	load := func() (executor.Loaded, error) {
		err := errNoCache
		var res compile.Result
		withCache(s, func(dir *listcache.Dir) {
			if dir != nil {
				res, err = dir.Result(kept, in.Tree)
			}
		})
		if err != nil {
			if res, err = compileInput(s, in); err != nil {
				return executor.Loaded{}, err
			}
		}
		return executor.Loaded{List: res.List, Blobs: res.Blobs, States: wanted.States(res), Secrets: res.Secrets}, nil
	}
	return executor.Request{Target: kept.Target, Policy: kept.Policy, Revision: rev, Load: load, ListDigest: kept.List,
		Repair: true}
}

var errNoCache = errors.New("there is no cache")
