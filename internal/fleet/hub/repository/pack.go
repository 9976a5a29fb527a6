package repository

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// ErrNoClone is the error of Pack on a hub that has not led yet.
var ErrNoClone = errors.New("this hub has no clone of the repository, because it has not led yet")

// Pack packs a commit into bundles, which it adds to a store.
func (f *Follower) Pack(ctx context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error) {
	s := f.current()
	if s == nil {
		return nil, ErrNoClone
	}
	return s.Pack(ctx, rev, store)
}

// Tidy removes unused commits from the clone, if there is one.
func (f *Follower) Tidy(ctx context.Context, used func(commit string) bool) error {
	if tidy, ok := f.current().(interface {
		Tidy(ctx context.Context, source string, keep func(commit string) bool) error
	}); ok {
		return tidy.Tidy(ctx, f.Repository().Name, used)
	}
	return nil
}

// Author returns the author of a commit, NAME <MAIL>, or "" if it cannot be read.
func (f *Follower) Author(ctx context.Context, rev fleet.Revision) string {
	if s, ok := f.current().(interface {
		Author(ctx context.Context, rev fleet.Revision) string
	}); ok {
		return s.Author(ctx, rev)
	}
	return ""
}
