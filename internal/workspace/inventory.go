package workspace

import (
	"context"
	"encoding/json"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// Inventory returns the known data of the targets without facts, sorted by name. It depends only on the
// content of the repository, so the inventory of a commit is read once.
func (w Workspace) Inventory(src *Source) (all []query.Target, err error) {
	ask := func() error {
		found, ds := w.Language.Inventory(src.Tree)
		all = found
		return ds.Err()
	}
	if !src.Committed() {
		return all, ask()
	}
	w.withCache(func(dir *listcache.Dir) {
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

// identityOf returns the identity of an open repository. The history of a commit is read once.
func (w Workspace) identityOf(src *Source) (repo.Identity, error) {
	src.identify.Do(func() {
		w.withCache(func(dir *listcache.Dir) { src.id, src.idErr = readIdentity(src, dir) })
	})
	return src.id, src.idErr
}

func readIdentity(src *Source, dir *listcache.Dir) (repo.Identity, error) {
	slot := "identity\x00" + src.Repo.Top() + "\x00" + src.Prefix
	var was struct {
		Commit string
		repo.Identity
	}
	if dir != nil && src.Rev.Commit != "" && json.Unmarshal(dir.Load(slot), &was) == nil &&
		was.Commit == src.Rev.Commit {
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
