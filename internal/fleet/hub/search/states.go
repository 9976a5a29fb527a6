package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
)

// Begin waits for a few seconds until the assigned content is read, and then for its turn. The caller must call end
// after the search.
func (x *Index) Begin(ctx context.Context) (parts []view.PartInUse, end func(), err error) {
	if parts, err = x.Parts(ctx, firstNames); err != nil {
		return nil, nil, err
	}
	x.await(ctx, parts)
	select {
	case x.turns <- struct{}{}:
		return parts, func() { <-x.turns }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Find returns the states of some parts with a name that contains the text, which is in lower case. States whose name
// is the text come first. incomplete is the content in which it could not search.
func (x *Index) Find(parts []view.PartInUse, text string) (out []document.FoundState, incomplete []string) {
	found := map[string]*document.FoundState{}
	for _, p := range parts {
		x.mu.Lock()
		e, known := x.known[p.Bundle.Digest]
		x.mu.Unlock()
		if !known {
			e.problem = "the hub has not read it yet: search again"
		}
		if e.problem != "" {
			incomplete = append(incomplete, fmt.Sprintf("%s: %s", cmp.Or(p.Module, "the root"), e.problem))
		}
		for _, s := range e.states {
			if matches(s, text) {
				add(found, s, p)
			}
		}
	}
	for _, s := range found {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b document.FoundState) int {
		return cmp.Or(cmp.Compare(rank(a, text), rank(b, text)), cmp.Compare(a.Module, b.Module),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind),
			slices.Compare(a.Names, b.Names))
	})
	return out, incomplete
}

// await waits until the content of parts is read, or has failed.
func (x *Index) await(ctx context.Context, parts []view.PartInUse) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for range 2 { // the first build can have begun before the content was assigned
		x.mu.Lock()
		built := x.built
		x.mu.Unlock()
		if len(x.missing(parts)) == 0 {
			return
		}
		select {
		case x.wake <- struct{}{}:
		default:
		}
		select {
		case <-built:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// matches reports whether KIND:NAME of a state contains a text in lower case.
func matches(s query.DeclaredState, text string) bool {
	return slices.ContainsFunc(s.Names, func(name string) bool {
		return strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(s.Kind+":"+name), text)
	})
}

// rank is 0 for a state whose name is the text.
func rank(s document.FoundState, text string) int {
	for _, name := range s.Names {
		if n := strings.ToLower(name); n == text || s.Kind+":"+n == text {
			return 0
		}
	}
	return 1
}

// add adds a state of a part. The same state of several versions of a module is one.
func add(to map[string]*document.FoundState, s query.DeclaredState, p view.PartInUse) {
	key := fmt.Sprintf("%q %q %d %q", s.File, s.Kind, s.Line, s.Names)
	f := to[key]
	if f == nil {
		f = &document.FoundState{Kind: s.Kind, Names: s.Names, Module: p.Module, File: s.File, Line: s.Line,
			Commits: []string{}, First: []string{}}
		to[key] = f
	}
	if !slices.Contains(f.Commits, p.Revision.Commit) {
		f.Commits = append(f.Commits, p.Revision.Commit)
		slices.Sort(f.Commits)
	}
	f.Targets += p.Targets
	f.First = append(f.First, p.First...)
	slices.Sort(f.First)
	f.First = f.First[:min(len(f.First), firstNames)]
}
