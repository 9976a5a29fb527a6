package differences

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/repo"
)

// Limits of the clone. When it is full, all its commits are removed.
const (
	mostCommits = 20
	mostBytes   = 1 << 30
)

// shortest is the minimum number of digits with which a request can name a known commit.
const shortest = 7

// tree is a commit, opened for reading.
type tree struct {
	files    repo.Tree
	revision repo.Revision
	close    func() error
}

// known returns the full hash of a commit that the fleet follows or that a target has, if name is its beginning. A name
// that fits several commits is an error.
func (s Config) known(name string) (string, error) {
	if len(name) < shortest || strings.Trim(name, "0123456789abcdef") != "" {
		return "", nil
	}
	var found []string
	add := func(commit string) {
		if strings.HasPrefix(commit, name) && !slices.Contains(found, commit) {
			found = append(found, commit)
		}
	}
	for _, r := range s.Records.Refs.Values() {
		add(r.Revision.Commit)
	}
	for _, a := range s.Records.Assignments.Values() {
		add(a.Assignment.Root.Revision.Commit)
		for _, m := range a.Assignment.Modules {
			add(m.Revision.Commit)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", &api.Refusal{Status: api.BadRequest,
		Why:  fmt.Sprintf("cannot find %q: several commits begin with it", name),
		Hint: "Use more digits of the hash"}
}

// fetch returns the hash of a commit, and the clone with it. After a failure, the clone is as before, or empty.
func (s Config) fetch(ctx context.Context, name string) (commit string, m *repo.Mirror, err error) {
	r := s.Repository()
	if r.URL == "" {
		return "", nil, &api.Refusal{Status: api.Conflict, Why: "cannot find a commit: the fleet follows no repository",
			Hint: "Set the repository in the settings of the hub"}
	}
	known, err := s.known(strings.ToLower(name))
	if err != nil {
		return "", nil, err
	}
	if known != "" {
		name = known
	}
	if m, err = s.mirror(ctx, r); err != nil {
		return "", nil, unreadable(ctx, name, err)
	}
	n, err := m.Kept(ctx)
	if err == nil && n >= mostCommits {
		err = m.Tidy(ctx, func(string) bool { return false })
	}
	if err == nil {
		commit, err = m.Fetch(ctx, name)
	}
	if err != nil && repo.IsLarge(err) {
		if err = m.Tidy(ctx, func(string) bool { return false }); err == nil {
			commit, err = m.Fetch(ctx, name)
		}
	}
	return commit, m, unreadable(ctx, name, err)
}

// mirror opens the clone, or creates it.
func (s Config) mirror(ctx context.Context, r records.Repository) (*repo.Mirror, error) {
	remote, err := repo.OpenRemote(r.URL)
	if err == nil {
		remote, err = remote.With(r.Access())
	}
	if err != nil {
		return nil, err
	}
	return repo.OpenMirror(ctx, path.Join(s.Dir, r.Name+".git"), remote,
		repo.MirrorLimits{Size: mostBytes, Timeout: time.Minute})
}

// unreadable returns an answer for the user about a commit that cannot be fetched.
func unreadable(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return late(fmt.Sprintf("cannot fetch %.80q in time: %v", name, err))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &api.Refusal{Status: api.NotFound, Why: err.Error(), Hint: "Push the commit to the repository of the " +
		"fleet. If its server does not accept a hash, use the name of the branch, or the full name of a ref, such as " +
		"refs/pull/12/head"}
}

// late returns an answer for a request that needs too much time.
func late(why string) error {
	return &api.Refusal{Status: api.Unavailable, Why: why,
		Hint: "Try again, or compare in a clone of the repository: fettle rollout plan REF"}
}

// open opens a commit of the clone.
func open(ctx context.Context, m *repo.Mirror, commit string) (*tree, error) {
	r, err := repo.Open(ctx, m.Dir())
	if err != nil {
		return nil, err
	}
	t, rev, err := r.At(ctx, commit)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &tree{t, rev, r.Close}, nil
}
