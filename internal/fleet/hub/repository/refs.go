package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/repo"
)

// found stores the commits of refs and records an event for each change.
func (f *Follower) found(ctx context.Context, refs map[string]fleet.Revision) {
	for name, rev := range refs {
		before, _, _ := f.Records.Refs.Get(records.RefKey(name))
		f.keepRef(ctx, name, func(was records.Ref) records.Ref {
			if was.Revision == rev && (was.Error == "" || name != f.Repository().Branch) {
				return was // unread records errors of pinned refs
			}
			return records.Ref{Name: name, Revision: rev, Read: f.Now().UnixNano()}
		})
		if before.Revision.Commit != rev.Commit {
			f.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RepositoryUpdated,
				Text: fmt.Sprintf("%s is at %.12s: %s", name, rev.Commit, rev.Subject)})
		}
	}
}

// unread stores why the repository, or some of its refs, cannot be read; nil means that all can be
// read. The last commits stay. An error of a pinned ref does not affect the branch.
func (f *Follower) unread(ctx context.Context, err error) {
	branch := f.Repository().Branch
	wrong, rest := refErrors(err)
	wrong[branch] = errors.Join(rest, wrong[branch])
	f.unreadRef(ctx, branch, wrong[branch])
	if rest != nil {
		return // the repository does not answer: the state of other refs is unknown
	}
	for _, name := range f.pinnedRefs() {
		if name != branch {
			f.unreadRef(ctx, name, wrong[name])
		}
	}
}

// refErrors splits an error into errors of single refs and errors of the whole repository.
func refErrors(err error) (refs map[string]error, rest error) {
	refs = map[string]error{}
	switch e := err.(type) {
	case *repo.RefError:
		refs[e.Ref] = e
		return refs, nil
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			more, others := refErrors(part)
			maps.Copy(refs, more)
			rest = errors.Join(rest, others)
		}
	}
	if len(refs) == 0 {
		return refs, err
	}
	return refs, rest
}

// unreadRef stores why a ref cannot be followed; nil clears the error.
func (f *Follower) unreadRef(ctx context.Context, name string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	before, _, _ := f.Records.Refs.Get(records.RefKey(name))
	f.keepRef(ctx, name, func(was records.Ref) records.Ref {
		if was.Error != text {
			was.Name, was.Error = name, text
		}
		return was
	})
	if text == "" || before.Error == text {
		return
	}
	what := "cannot read the repository"
	if name != f.Repository().Branch {
		what = "cannot follow " + name + ", to which targets are pinned"
	}
	f.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RepositoryUnreadable, Text: what, Error: text})
}

// retryAfter is the delay after a failure to store a ref.
const retryAfter = 5 * time.Second

// keepRef changes the stored result of a ref. It retries until it succeeds or ctx ends, because the
// next poll reports nothing before the repository changes.
func (f *Follower) keepRef(ctx context.Context, name string, change func(was records.Ref) records.Ref) {
	for {
		was, at, _ := f.Records.Refs.Get(records.RefKey(name))
		r := change(was)
		if r == was {
			return
		}
		err := f.Records.Refs.Put(ctx, records.RefKey(name), r, at)
		if err == nil || ctx.Err() != nil {
			return
		}
		f.Warn("cannot store the commit of " + name + ": " + err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

// HasRef asks the repository for a branch or tag. It works on each hub.
func (f *Follower) HasRef(ctx context.Context, name string) (bool, error) {
	remote, err := f.remote()
	if err != nil {
		return false, err
	}
	return remote.HasRef(ctx, name)
}

// Branches asks the repository for the branches that begin with a prefix.
func (f *Follower) Branches(ctx context.Context, prefix string) ([]string, error) {
	remote, err := f.remote()
	if err != nil {
		return nil, err
	}
	return remote.Branches(ctx, prefix)
}

func (f *Follower) remote() (repo.Remote, error) {
	r := f.Repository()
	remote, err := repo.OpenRemote(r.URL)
	if err == nil {
		remote, err = remote.With(r.Access())
	}
	return remote, err
}
