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
	Name   string // the name in assignments
	URL    string // https, ssh or file
	Access repo.Access
	// Refs are the branches, tags and commits to resolve; "" is the default branch.
	Refs   []string
	Every  time.Duration // interval of the polls; 0 is a minute
	Limits repo.MirrorLimits
}

var sourceName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`) })

// Sources follows repositories. Each has a mirror in a directory below Dir. If a repository cannot
// be read, its last resolved commits stay. The fields must be set before Run; the methods are safe
// for concurrent use.
type Sources struct {
	Dir string // a local directory; only one process may use it
	// Changed is called with the commits of a source's refs, after each poll with a change. Failed
	// is called when a source, or some of its refs, cannot be read. Calls for one source are never
	// concurrent.
	Changed func(source string, refs map[string]fleet.Revision)
	Failed  func(source string, err error)
	// Gap is the minimum time between two polls of a source; 0 is MinEvery.
	Gap time.Duration
	// Answered is called when a source was read completely, so that an alarm can end.
	Answered func(source string)

	mu      sync.Mutex
	follow  Follow
	sources map[string]Source
	refs    map[string]map[string]fleet.Revision
	mirrors map[string]*sync.Mutex // held while a mirror is changed
	wake    chan struct{}
}

// Set replaces the list of sources. An invalid source is left out, and its error returned.
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
		return fmt.Errorf("cannot use %.70q as the name of a repository: a name has lower-case letters, digits, - and _",
			s.Name)
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

// Poke causes a poll of a source soon: see Follow.
func (s *Sources) Poke(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follow.Poke(name, time.Now()) {
		s.ring()
	}
}

// ring wakes Run, which creates the channel. It must be called with the lock held.
func (s *Sources) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Resolved returns the last known commit of a ref of a source, however old it is.
func (s *Sources) Resolved(source, ref string) (fleet.Revision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rev, ok := s.refs[source][ref]
	return rev, ok
}

// Run follows the sources until ctx ends, and returns after the last poll has ended. It first
// reports the commits that are known from the mirrors.
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

// update polls a source, and reports changes. A source that answers keeps its interval, even if
// some refs are missing.
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

// tell resolves the commits, stores them, and calls Changed if they differ from before. Refs that
// were not found stay unchanged.
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
		now[ref] = fleet.Revision{Repository: src.Name, Commit: info.Commit, Time: info.Time, Subject: info.Subject,
			Branch: ref}
	}
	if !maps.Equal(before, now) {
		s.mu.Lock()
		s.refs[src.Name] = now
		s.mu.Unlock()
		s.Changed(src.Name, maps.Clone(now))
	}
	return errors.Join(wrong...)
}

// Pack stores all parts of a resolved commit: see PackAll.
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
		return nil, fmt.Errorf("cannot open the repository %.70q: this hub does not follow it", source)
	}
	return repo.Open(ctx, path.Join(s.Dir, source+".git"))
}

// Tree opens the whole tree of a resolved commit. The caller must call end after its last use.
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

// Tidy removes commits from a source's mirror, except for resolved commits and commits that keep
// accepts.
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

// Author returns the author of a commit as git shows it, or "" if it cannot be read.
func (s *Sources) Author(ctx context.Context, rev fleet.Revision) string {
	r, err := s.open(ctx, rev.Repository)
	if err != nil {
		return ""
	}
	defer r.Close()
	found, err := r.Resolve(ctx, rev.Commit)
	if err != nil {
		return ""
	}
	return found.Author
}
