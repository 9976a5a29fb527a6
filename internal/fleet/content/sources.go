package content

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// Source is a repository that a hub follows.
type Source struct {
	Name   string // by which assignments name it
	URL    string // https, ssh or file
	Access repo.Access
	// Refs are the branches, tags and commits that are resolved; "" is the source's
	// present.
	Refs   []string
	Every  time.Duration // how often it is asked; 0 is a minute
	Limits repo.MirrorLimits
}

var sourceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`) })

// Sources follow repositories: each has a mirror in a directory below Dir. What cannot be
// read leaves what was resolved before. Its fields are set before Run; its methods are
// safe for concurrent use.
type Sources struct {
	Dir string // of this machine; one process uses it
	// Changed tells what the refs of a source mean now, after each answer that is other
	// than the one before; and Failed that a source, or some refs of it, cannot be
	// read. They are called from one goroutine a source.
	Changed func(source string, refs map[string]fleet.Revision)
	Failed  func(source string, err error)
	// Gap is the least time between two questions to a source, MinEvery when it is 0.
	Gap time.Duration
	// Answered tells that a source was read whole, so that an alarm may end.
	Answered func(source string)

	mu      sync.Mutex
	follow  Follow
	sources map[string]Source
	refs    map[string]map[string]fleet.Revision
	mirrors map[string]*sync.Mutex // held by who changes a mirror
	wake    chan struct{}
}

// Set says which sources there are, in place of what was said before. A mistake in one
// leaves it out and is told.
func (s *Sources) Set(list []Source) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirrors == nil {
		s.mirrors, s.refs = map[string]*sync.Mutex{}, map[string]map[string]fleet.Revision{}
	}
	s.follow.Gap = s.Gap
	old := s.sources
	s.sources = map[string]Source{}
	var wrong []error
	for _, src := range list {
		if err := src.check(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		if src.Every == 0 {
			src.Every = time.Minute
		}
		src.Refs = slices.Compact(slices.Sorted(slices.Values(src.Refs)))
		s.sources[src.Name] = src
		s.follow.Watch(src.Name, src.Every, time.Now())
		if was, known := old[src.Name]; known && !slices.Equal(was.Refs, src.Refs) {
			s.follow.Poke(src.Name, time.Now())
		}
		if s.mirrors[src.Name] == nil {
			s.mirrors[src.Name] = &sync.Mutex{}
		}
	}
	for name := range old {
		if _, still := s.sources[name]; !still {
			s.follow.Forget(name)
			delete(s.refs, name)
		}
	}
	s.ring()
	return errors.Join(wrong...)
}

func (s Source) check() error {
	if !sourceName().MatchString(s.Name) {
		return fmt.Errorf("cannot call a repository %.70q: a name has small letters, digits, - and _", s.Name)
	}
	r, err := repo.OpenRemote(s.URL)
	if err == nil {
		_, err = r.With(s.Access)
	}
	if err != nil {
		return fmt.Errorf("cannot follow the repository %s: %w", s.Name, err)
	}
	return nil
}

// Poke has a source asked soon: see Follow.
func (s *Sources) Poke(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follow.Poke(name, time.Now()) {
		s.ring()
	}
}

// ring wakes Run. The lock is held.
func (s *Sources) ring() {
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Resolved is what a ref of a source means: what was found last, however long ago.
func (s *Sources) Resolved(source, ref string) (fleet.Revision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rev, ok := s.refs[source][ref]
	return rev, ok
}

// Run follows until ctx ends, and returns when nothing is asked any more. It tells at
// first what was known when it ended last.
func (s *Sources) Run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	for ctx.Err() == nil {
		s.mu.Lock()
		if s.wake == nil {
			s.wake = make(chan struct{}, 1)
		}
		wake, due := s.wake, s.follow.Due(time.Now())
		next, ok := s.follow.Next()
		s.mu.Unlock()
		for _, name := range due {
			asking.Go(func() { s.ask(ctx, name) })
		}
		pause := time.Hour
		if ok {
			pause = time.Until(next)
		}
		t := time.NewTimer(max(pause, 10*time.Millisecond))
		select {
		case <-ctx.Done():
		case <-wake:
		case <-t.C:
		}
		t.Stop()
	}
}

func (s *Sources) ask(ctx context.Context, name string) {
	s.mu.Lock()
	src, ok := s.sources[name]
	s.mu.Unlock()
	var err error
	answers := true
	if ok {
		answers, err = s.update(ctx, src)
	}
	s.mu.Lock()
	s.follow.Done(name, answers, time.Now())
	s.ring()
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil || !ok:
	case err != nil:
		s.Failed(name, err)
	case s.Answered != nil:
		s.Answered(name)
	}
}

// update asks a source, and tells what is other than before. One that answers is asked as
// often as ever, also when some ref is not there: that is the ref's trouble.
func (s *Sources) update(ctx context.Context, src Source) (answers bool, err error) {
	m, err := s.mirror(ctx, src)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	_, told := s.refs[src.Name]
	lock := s.mirrors[src.Name]
	s.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()
	if !told {
		if known, err := m.Known(ctx, src.Refs); err == nil && len(known) > 0 {
			_ = s.tell(ctx, src, m, known)
		}
	}
	found, err := m.Update(ctx, src.Refs)
	return err == nil || len(found) > 0, errors.Join(err, s.tell(ctx, src, m, found))
}

func (s *Sources) mirror(ctx context.Context, src Source) (*repo.Mirror, error) {
	remote, err := repo.OpenRemote(src.URL)
	if err == nil {
		remote, err = remote.With(src.Access)
	}
	if err != nil {
		return nil, err
	}
	return repo.OpenMirror(ctx, path.Join(s.Dir, src.Name+".git"), remote, src.Limits)
}

// tell resolves the commits, keeps what they are, and calls Changed where that is other
// than before. What was not found stays as it was.
func (s *Sources) tell(ctx context.Context, src Source, m *repo.Mirror, found map[string]string) error {
	r, err := repo.Open(ctx, m.Dir())
	if err != nil {
		return err
	}
	defer r.Close()
	s.mu.Lock()
	before := s.refs[src.Name]
	s.mu.Unlock()
	now := maps.Clone(before)
	if now == nil {
		now = map[string]fleet.Revision{}
	}
	maps.DeleteFunc(now, func(ref string, _ fleet.Revision) bool { return !slices.Contains(src.Refs, ref) })
	var wrong []error
	for ref, id := range found {
		info, err := r.Resolve(ctx, id)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		now[ref] = fleet.Revision{Repository: src.Name, Commit: info.Commit, Time: info.Time, Subject: info.Subject, Branch: ref}
	}
	if !maps.Equal(before, now) {
		s.mu.Lock()
		s.refs[src.Name] = now
		s.mu.Unlock()
		s.Changed(src.Name, maps.Clone(now))
	}
	return errors.Join(wrong...)
}

// Pack puts every part of a commit that was resolved into a store: see PackAll.
func (s *Sources) Pack(ctx context.Context, rev fleet.Revision, store *Store) ([]fleet.Assigned, error) {
	r, err := s.open(ctx, rev.Repository)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return PackAll(ctx, r, rev, store)
}

func (s *Sources) open(ctx context.Context, source string) (*repo.Repo, error) {
	if !sourceName().MatchString(source) {
		return nil, fmt.Errorf("cannot open the repository %.70q: nobody follows it", source)
	}
	return repo.Open(ctx, path.Join(s.Dir, source+".git"))
}

// Tree opens the whole tree of a commit that was resolved, for who has to read what a
// repository declares. The caller calls end after its last use.
func (s *Sources) Tree(ctx context.Context, rev fleet.Revision) (tree repo.Tree, end func() error, err error) {
	r, err := s.open(ctx, rev.Repository)
	if err != nil {
		return nil, nil, err
	}
	tree, _, err = r.At(ctx, rev.Commit)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return tree, r.Close, nil
}

// Tidy removes from a source's mirror what keep does not name; what is resolved stays.
func (s *Sources) Tidy(ctx context.Context, source string, keep func(commit string) bool) error {
	s.mu.Lock()
	src, ok := s.sources[source]
	lock, resolved := s.mirrors[source], map[string]bool{}
	for _, rev := range s.refs[source] {
		resolved[rev.Commit] = true
	}
	s.mu.Unlock()
	if !ok {
		return nil
	}
	lock.Lock()
	defer lock.Unlock()
	m, err := s.mirror(ctx, src)
	if err != nil {
		return err
	}
	return m.Tidy(ctx, func(commit string) bool { return resolved[commit] || keep(commit) })
}
