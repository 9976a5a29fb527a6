package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/repo"
)

// follow polls the repository for the branch and the refs of pins until ctx ends. It calls answered
// after each poll, also after a failed one.
func (h *Hub) follow(ctx context.Context, answered func()) error {
	s := h.edge.sources(&content.Sources{
		Dir:     h.dir("mirror"),
		Changed: func(_ string, refs map[string]fleet.Revision) { h.found(ctx, refs) },
		Failed:  func(_ string, err error) { h.unread(ctx, err); answered() },
		// A successful poll ends an alarm.
		Answered: func(string) { h.unread(ctx, nil); answered() },
	})
	h.mu.Lock()
	h.repo = s
	h.mu.Unlock()
	h.refollow()
	s.Run(ctx)
	return ctx.Err()
}

// watchRefs sets which refs are polled: the branch and the refs of pins.
func (h *Hub) watchRefs() error {
	h.mu.Lock()
	s := h.repo
	h.mu.Unlock()
	r := h.repository()
	if s == nil || r.URL == "" {
		return nil
	}
	refs := append([]string{r.Branch}, h.pinnedRefs()...)
	return s.Set([]content.Source{{Name: r.Name, URL: r.URL, Access: r.Access(), Refs: refs, Every: r.Poll}})
}

// pinnedRefs returns the refs in pins of active targets, sorted and without duplicates.
func (h *Hub) pinnedRefs() []string {
	var refs []string
	for _, t := range h.records.Targets.Values() {
		if t.Pin != nil && t.Standing == fleet.Active {
			refs = append(refs, t.Pin.Ref)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// found stores the commits of refs and records an event for each change.
func (h *Hub) found(ctx context.Context, refs map[string]fleet.Revision) {
	for name, rev := range refs {
		before, _, _ := h.records.Refs.Get(records.RefKey(name))
		h.keepRef(ctx, name, func(was records.Ref) records.Ref {
			if was.Revision == rev && (was.Error == "" || name != h.repository().Branch) {
				return was // unread records errors of pinned refs
			}
			return records.Ref{Name: name, Revision: rev, Read: h.now().UnixNano()}
		})
		if before.Revision.Commit != rev.Commit {
			h.events.Note(ctx, fleet.HubEvent{Kind: fleet.RepositoryUpdated,
				Text: fmt.Sprintf("%s is at %.12s: %s", name, rev.Commit, rev.Subject)})
		}
	}
}

// unread stores why the repository, or some of its refs, cannot be read; nil means that all can be
// read. The last commits stay. An error of a pinned ref does not affect the branch.
func (h *Hub) unread(ctx context.Context, err error) {
	branch := h.repository().Branch
	wrong, rest := refErrors(err)
	wrong[branch] = errors.Join(rest, wrong[branch])
	h.unreadRef(ctx, branch, wrong[branch])
	if rest != nil {
		return // the repository does not answer: the state of other refs is unknown
	}
	for _, name := range h.pinnedRefs() {
		if name != branch {
			h.unreadRef(ctx, name, wrong[name])
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
func (h *Hub) unreadRef(ctx context.Context, name string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	before, _, _ := h.records.Refs.Get(records.RefKey(name))
	h.keepRef(ctx, name, func(was records.Ref) records.Ref {
		if was.Error != text {
			was.Name, was.Error = name, text
		}
		return was
	})
	if text == "" || before.Error == text {
		return
	}
	what := "cannot read the repository"
	if name != h.repository().Branch {
		what = "cannot follow " + name + ", to which targets are pinned"
	}
	h.events.Note(ctx, fleet.HubEvent{Kind: fleet.RepositoryUnreadable, Text: what, Error: text})
}

// keepRef changes the stored result of a ref. It retries until it succeeds or ctx ends, because the
// next poll reports nothing before the repository changes.
func (h *Hub) keepRef(ctx context.Context, name string, change func(was records.Ref) records.Ref) {
	for {
		was, at, _ := h.records.Refs.Get(records.RefKey(name))
		r := change(was)
		if r == was {
			return
		}
		err := h.records.Refs.Put(ctx, records.RefKey(name), r, at)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.warn("cannot store the commit of " + name + ": " + err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

// contents packs a commit into bundles and compiles its inventory. If the commit cannot be read,
// Contents.Error contains the reason; the error of contents itself is only that of ctx.
func (h *Hub) contents(ctx context.Context, commit string, targets []fleet.Target) (assign.Contents, error) {
	c := assign.Contents{Enrolled: assign.EnrolledDigest(targets), Revision: fleet.Revision{Repository: h.repository().Name, Commit: commit}}
	for _, r := range h.records.Refs.Values() {
		if r.Revision.Commit == commit {
			c.Revision = r.Revision
		}
	}
	parts, err := h.repo.Pack(ctx, c.Revision, h.content)
	if err == nil {
		err = h.understand(&c, parts, targets)
	}
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	if err != nil {
		c.Error = err.Error()
	}
	return c, nil
}

// understand compiles the inventory of a commit and fills c with its bundles and targets.
func (h *Hub) understand(c *assign.Contents, parts []fleet.Assigned, targets []fleet.Target) error {
	if len(parts) > 0 {
		c.Revision = parts[0].Revision
	}
	c.Bundles, c.Proofs = map[string]fleet.Bundle{}, map[string]fleet.Bundle{}
	for _, p := range parts {
		if p.Proof != nil {
			c.Proofs[p.Module] = *p.Proof
		}
		if p.Module == content.RootBundle {
			c.Root = p.Bundle
		} else {
			c.Bundles[p.Module] = p.Bundle
		}
	}
	whole, end, err := h.compose(parts, targets)
	if err != nil {
		return err
	}
	defer end()
	all, ds := h.conf.Compile.Targets(whole)
	if err := ds.Err(); err != nil {
		return err
	}
	c.Targets = assign.TargetsOf(all)
	belong, alike := make(map[string]view.Memberships, len(all)), map[string]view.Memberships{}
	for _, t := range all {
		key := fmt.Sprintf("%q%q", t.Roles, t.Groups)
		b, known := alike[key]
		if !known {
			b = view.Memberships{Roles: t.Roles, Groups: t.Groups}
			alike[key] = b
		}
		belong[t.Name] = b
	}
	h.view.SetMemberships(belong)
	return nil
}

// compose returns the tree of all parts with the enrolled targets, as agents build it. The caller
// must call end when it no longer reads the tree. After an error, end was called already.
func (h *Hub) compose(parts []fleet.Assigned, targets []fleet.Target) (tree repo.Tree, end func(), err error) {
	var closes []func() error
	end = func() {
		for _, c := range closes {
			_ = c()
		}
	}
	trees := map[string]repo.Tree{}
	for _, p := range parts {
		b, done, err := content.OpenBundle(h.content, p.Bundle)
		if err != nil {
			end()
			return nil, nil, err
		}
		closes = append(closes, done)
		trees[p.Module] = b.Tree()
	}
	top := trees[content.RootBundle]
	delete(trees, content.RootBundle)
	labels := map[string]map[string]string{}
	for _, t := range targets {
		if t.Standing == fleet.Active {
			labels[t.Name] = t.Labels
		}
	}
	if tree, err = content.Compose(top, trees, labels); err != nil {
		end()
	}
	return tree, end, err
}

// Poll is the default time between two polls of a repository.
const Poll = 30 * time.Second
