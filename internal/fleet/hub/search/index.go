package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// The limits of an index.
const (
	maxIndexed   = 100_000          // states
	patience     = 5 * time.Second  // for which a search waits for the index
	retryFailure = 10 * time.Minute // after which content that cannot be read is read again
	retryMissing = 30 * time.Second // after which missing content is looked for again
	maxSearches  = 2                // that use CPU time at once
	firstNames   = 5                // names of targets with a state
)

// IndexConfig contains what an Index needs of its hub. All fields must be set.
type IndexConfig struct {
	Store *content.Store
	// States returns the states that a tree declares.
	States func(tree repo.Tree) ([]query.DeclaredState, diag.List)
	// Parts returns the content that is assigned to active targets, each with the names of at most some targets.
	Parts func(ctx context.Context, most int) ([]view.PartInUse, error)
	Now   func() time.Time
}

// Index contains the states that the assigned content declares. It is safe for concurrent use.
type Index struct {
	IndexConfig
	wake  chan struct{}
	turns chan struct{} // a search holds an element while it uses CPU time

	mu    sync.Mutex
	known map[string]indexed // by the digest of a bundle
	built chan struct{}      // closed and replaced after each build
}

// indexed is the result of reading one bundle.
type indexed struct {
	states []query.DeclaredState
	// problem is the reason why states are missing, "" for none. The bundle is read again after retry; zero is never.
	problem string
	retry   time.Time
}

// NewIndex returns an empty index.
func NewIndex(c IndexConfig) *Index {
	return &Index{IndexConfig: c, wake: make(chan struct{}, 1), turns: make(chan struct{}, maxSearches),
		known: map[string]indexed{}, built: make(chan struct{})}
}

// Run reads content that searches miss, until ctx ends.
func (x *Index) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.wake:
		}
		parts, err := x.Parts(ctx, 0)
		if err == nil {
			x.build(parts)
		}
		x.mu.Lock()
		close(x.built)
		x.built = make(chan struct{})
		x.mu.Unlock()
	}
}

// build reads the missing content of parts, and forgets content that is no longer assigned.
func (x *Index) build(parts []view.PartInUse) {
	missing := x.missing(parts)
	read := map[string]indexed{}
	for len(missing) > 0 {
		var tree []view.PartInUse
		tree, missing = next(missing)
		x.read(tree, parts, read)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	known, total := map[string]indexed{}, 0
	for _, p := range parts {
		e, ok := read[p.Bundle.Digest]
		if !ok {
			if e, ok = x.known[p.Bundle.Digest]; !ok {
				continue
			}
		}
		if total += len(e.states); total > maxIndexed {
			total -= len(e.states)
			e = indexed{problem: "the index is full"}
		}
		known[p.Bundle.Digest] = e
	}
	x.known = known
}

// missing returns the parts that are not known, or that must be read again.
func (x *Index) missing(parts []view.PartInUse) (out []view.PartInUse) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range parts {
		e, ok := x.known[p.Bundle.Digest]
		if !ok || !e.retry.IsZero() && x.Now().After(e.retry) {
			out = append(out, p)
		}
	}
	return out
}

// next returns parts for one tree, which has at most one version of each module, and the rest.
func next(parts []view.PartInUse) (tree, rest []view.PartInUse) {
	seen := map[string]bool{}
	for _, p := range parts {
		if seen[p.Module] {
			rest = append(rest, p)
			continue
		}
		seen[p.Module] = true
		tree = append(tree, p)
	}
	return tree, rest
}

// read reads the states of some parts. A tree without a root bundle gets any of the assigned ones, because modules use
// its kinds.
func (x *Index) read(parts, all []view.PartInUse, into map[string]indexed) {
	trees, end, err := x.open(parts, all, into)
	defer end()
	var states []query.DeclaredState
	var problems map[string]string
	if err == nil {
		states, problems, err = x.states(trees)
	}
	byModule := map[string][]query.DeclaredState{}
	for _, s := range states {
		module := repo.ModuleOf(s.File)
		byModule[module] = append(byModule[module], s)
	}
	for _, p := range parts {
		if _, ok := into[p.Bundle.Digest]; ok {
			continue // it cannot be opened
		}
		e := indexed{states: byModule[p.Module], problem: problems[p.Module]}
		if err != nil {
			e.problem = err.Error()
		}
		if e.problem != "" {
			e.retry = x.Now().Add(retryFailure)
		}
		into[p.Bundle.Digest] = e
	}
}

// open opens the trees of parts, by module. Parts that the hub does not have are added to into.
func (x *Index) open(parts, all []view.PartInUse, into map[string]indexed) (trees map[string]repo.Tree, end func(),
	err error) {
	var closes []func() error
	end = func() {
		for _, c := range closes {
			_ = c()
		}
	}
	trees = map[string]repo.Tree{}
	for _, p := range parts {
		b, done, err := content.OpenBundle(x.Store, p.Bundle)
		if err != nil {
			into[p.Bundle.Digest] = indexed{problem: "this hub does not have its content yet",
				retry: x.Now().Add(retryMissing)}
			continue
		}
		trees[p.Module], closes = b.Tree(), append(closes, done)
	}
	if trees[content.RootBundle] != nil {
		return trees, end, nil
	}
	for _, p := range all {
		if p.Module != content.RootBundle {
			continue
		}
		if b, done, err := content.OpenBundle(x.Store, p.Bundle); err == nil {
			trees[content.RootBundle], closes = b.Tree(), append(closes, done)
			return trees, end, nil
		}
	}
	return trees, end, errors.New("this hub does not have the files of the root yet")
}

// states returns the states of a tree of parts, and the reasons why modules lack some.
func (x *Index) states(trees map[string]repo.Tree) ([]query.DeclaredState, map[string]string, error) {
	modules := maps.Clone(trees)
	delete(modules, content.RootBundle)
	whole, err := content.Compose(trees[content.RootBundle], modules, nil)
	if err != nil {
		return nil, nil, err
	}
	states, ds := x.States(whole)
	problems := map[string]string{}
	for _, d := range ds {
		if d.Severity != diag.Error {
			continue
		}
		text := fmt.Sprintf("%s: %s", d.Range, d.Summary)
		if len(states) == 0 {
			return nil, nil, errors.New(text)
		}
		if module := repo.ModuleOf(d.Range.File); problems[module] == "" {
			problems[module] = text
		}
	}
	if len(states) == query.MaxStates {
		return states, problems, fmt.Errorf("the hub reads only %d states of a commit", query.MaxStates)
	}
	return states, problems, nil
}
