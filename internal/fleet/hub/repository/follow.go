package repository

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// Follow polls the repository for the branch and the refs of pins until ctx ends. It calls answered
// after each poll, also after a failed one.
func (f *Follower) Follow(ctx context.Context, answered func()) error {
	s := f.Sources(&content.Sources{
		Dir:     f.Dir,
		Changed: func(_ string, refs map[string]fleet.Revision) { f.found(ctx, refs) },
		Failed:  func(_ string, err error) { f.unread(ctx, err); answered() },
		// A successful poll ends an alarm.
		Answered: func(string) { f.unread(ctx, nil); answered() },
	})
	f.mu.Lock()
	f.sources = s
	f.mu.Unlock()
	f.Refollow()
	s.Run(ctx)
	return ctx.Err()
}

// watchRefs sets which refs are polled: the branch and the refs of pins.
func (f *Follower) watchRefs() error {
	s := f.current()
	r := f.Repository()
	if s == nil || r.URL == "" {
		return nil
	}
	refs := append([]string{r.Branch}, f.pinnedRefs()...)
	return s.Set([]content.Source{{Name: r.Name, URL: r.URL, Access: r.Access(), Refs: refs, Every: r.Poll}})
}

// OnTarget handles a changed record of a target.
func (f *Follower) OnTarget(key string, t fleet.Target) {
	if f.pins.changed(key, t) {
		f.Refollow()
	}
}

// Refollow updates the set of followed refs.
func (f *Follower) Refollow() {
	if err := f.watchRefs(); err != nil {
		f.Warn(err.Error())
	}
}

// Poke makes the leader poll the repository soon. On other hubs it does nothing.
func (f *Follower) Poke(source string) {
	if s := f.current(); s != nil {
		s.Poke(source)
	}
}
