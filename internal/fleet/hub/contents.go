package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/repo"
)

// namedRef is where a branch, tag or commit led the last time, by its name.
type namedRef struct {
	Name     string         `json:"name"`
	Revision fleet.Revision `json:"revision"`
	Error    string         `json:"error,omitempty"`
	Read     int64          `json:"read"` // ns since 1970, when it was found
}

func (r namedRef) ref() *assign.Ref { return &assign.Ref{Commit: r.Revision.Commit, Error: r.Error} }

// refKey is the key of a ref in the store: names of branches have characters that keys
// have not.
func refKey(name string) string { return hex.EncodeToString([]byte(name)) }

// follow asks the repository where the branch and the pins lead until ctx ends. answered
// is called after each answer, also when there was none.
func (h *Hub) follow(ctx context.Context, answered func()) error {
	s := h.edge.sources(&content.Sources{
		Dir:     h.dir("mirror"),
		Changed: func(_ string, refs map[string]fleet.Revision) { h.found(ctx, refs) },
		Failed:  func(_ string, err error) { h.unread(ctx, err); answered() },
		// An answer ends an alarm.
		Answered: func(string) { h.unread(ctx, nil); answered() },
	})
	h.mu.Lock()
	h.repo = s
	h.mu.Unlock()
	h.refollow()
	s.Run(ctx)
	return ctx.Err()
}

// watchRefs says what is followed: the branch, and what pins name.
func (h *Hub) watchRefs() error {
	h.mu.Lock()
	s := h.repo
	h.mu.Unlock()
	r := h.repository()
	if s == nil || r.URL == "" {
		return nil
	}
	refs := append([]string{r.Branch}, h.pinnedRefs()...)
	return s.Set([]content.Source{{Name: r.Name, URL: r.URL, Access: r.access(), Refs: refs, Every: r.Poll}})
}

// pinnedRefs are what pins of active targets name, sorted, each once.
func (h *Hub) pinnedRefs() []string {
	var refs []string
	for _, t := range h.targets.values() {
		if t.Pin != nil && t.Standing == fleet.Active {
			refs = append(refs, t.Pin.Ref)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// found keeps where refs lead now.
func (h *Hub) found(ctx context.Context, refs map[string]fleet.Revision) {
	for name, rev := range refs {
		before, _, _ := h.refs.get(refKey(name))
		h.keepRef(ctx, name, func(was namedRef) namedRef {
			if was.Revision == rev && (was.Error == "" || name != h.repository().Branch) {
				return was // what is wrong with the ref of a pin is told with the answer
			}
			return namedRef{Name: name, Revision: rev, Read: h.now().UnixNano()}
		})
		if before.Revision.Commit != rev.Commit {
			h.note(ctx, fleet.HubEvent{Kind: fleet.Followed, Text: fmt.Sprintf("%s is at %.12s: %s", name, rev.Commit, rev.Subject)})
		}
	}
}

// unread keeps why the repository, or some of its refs, cannot be read, or that all can be
// again; where refs led stays. What is wrong with the ref of a pin is not wrong with the branch.
func (h *Hub) unread(ctx context.Context, err error) {
	branch := h.repository().Branch
	wrong, rest := refErrors(err)
	wrong[branch] = errors.Join(rest, wrong[branch])
	h.unreadRef(ctx, branch, wrong[branch])
	if rest != nil {
		return // the repository does not answer: nothing is known of the others
	}
	for _, name := range h.pinnedRefs() {
		if name != branch {
			h.unreadRef(ctx, name, wrong[name])
		}
	}
}

// refErrors takes apart what is wrong with single refs, and what is wrong with all.
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

// unreadRef keeps why a ref cannot be followed, nil for one that can.
func (h *Hub) unreadRef(ctx context.Context, name string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	before, _, _ := h.refs.get(refKey(name))
	h.keepRef(ctx, name, func(was namedRef) namedRef {
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
	h.note(ctx, fleet.HubEvent{Kind: fleet.Unread, Text: what, Error: text})
}

// keepRef changes what is kept of a ref, and tries until it is: the repository is not told of
// again before it has something new.
func (h *Hub) keepRef(ctx context.Context, name string, change func(was namedRef) namedRef) {
	for {
		was, at, _ := h.refs.get(refKey(name))
		r := change(was)
		if r == was {
			return
		}
		err := h.refs.put(ctx, refKey(name), r, at)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.warn("cannot keep where " + name + " leads: " + err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

// note is record for what is no reason to stop.
func (h *Hub) note(ctx context.Context, e fleet.HubEvent) {
	if err := h.record(ctx, e); err != nil && ctx.Err() == nil {
		h.warn("cannot keep an event: " + err.Error())
	}
}

// contents packs a commit into bundles and asks what it says of targets. A commit that
// cannot be read is no error of the hub: the contents say it.
func (h *Hub) contents(ctx context.Context, commit string, targets []fleet.Target) (assign.Contents, error) {
	c := assign.Contents{Enrolled: assign.EnrolledDigest(targets), Revision: fleet.Revision{Repository: h.repository().Name, Commit: commit}}
	for _, r := range h.refs.values() {
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

// understand asks the compiler for the targets of a commit.
func (h *Hub) understand(c *assign.Contents, parts []fleet.Assigned, targets []fleet.Target) error {
	if len(parts) > 0 {
		c.Revision = parts[0].Revision
	}
	c.Bundles, c.Proofs = map[string]fleet.Bundle{}, map[string]fleet.Bundle{}
	for _, p := range parts {
		if p.Proof != nil {
			c.Proofs[p.Module] = *p.Proof
		}
		if p.Module == content.Top {
			c.Top = p.Bundle
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
	belong, alike := make(map[string]view.Belongs, len(all)), map[string]view.Belongs{}
	for _, t := range all {
		key := fmt.Sprintf("%q%q", t.Roles, t.Groups)
		b, known := alike[key]
		if !known {
			b = view.Belongs{Roles: t.Roles, Groups: t.Groups}
			alike[key] = b
		}
		belong[t.Name] = b
	}
	h.view.Belong(belong)
	return nil
}

// compose is the tree of all parts with the targets that are enrolled, as agents make
// theirs.
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
	top := trees[content.Top]
	delete(trees, content.Top)
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

// Poll is how often a repository is asked when nobody says.
const Poll = 30 * time.Second
