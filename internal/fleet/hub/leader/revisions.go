package leader

import (
	"context"
	"maps"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/view"
)

// read compiles commits for the targets that exist now.
func (t *term) read(ctx context.Context, commits []string, targets []fleet.Target) error {
	for _, commit := range commits {
		c, err := t.contents(ctx, commit, targets)
		if err != nil {
			return err
		}
		t.revisions[commit] = c
		t.versions.learn(c)
	}
	return nil
}

// forget removes compiled commits that are not the commit of any ref.
func (t *term) forget(in assign.Input) {
	used := map[string]bool{}
	for _, r := range in.Refs {
		used[r.Commit] = true
	}
	for commit := range t.revisions {
		if !used[commit] {
			delete(t.revisions, commit)
		}
	}
}

// readNeeded compiles the commits that a decision needs.
func (t *term) readNeeded(ctx context.Context, in *assign.Input) error {
	if missing := assign.Needed(*in); len(missing) > 0 {
		if err := t.read(ctx, missing, in.Targets); err != nil {
			return err
		}
	}
	in.Revisions = maps.Clone(t.revisions) // the output keeps this map for Why
	return t.readVersions(ctx, *in)
}

// readVersions compiles the commits of present content whose versions are needed and not known. The reason can be that
// this hub did not lead before. A commit that cannot be read is tried again when the branch has another commit.
func (t *term) readVersions(ctx context.Context, in assign.Input) error {
	commit := in.Refs[in.Branch].Commit
	if v := &t.versions; v.head != commit {
		v.head, v.tried = commit, map[string]bool{}
	}
	conf := t.Config
	conf.SetMemberships = func(map[string]view.Memberships) {} // the memberships of the branch remain
	read := 0
	for _, old := range t.versions.known.Unknown(in.Revisions[commit], in.Previous) {
		if t.versions.tried[old] || read == maxRead {
			continue
		}
		read++
		t.versions.tried[old] = true
		c, err := conf.contents(ctx, old, in.Targets)
		if err != nil {
			return err
		}
		t.versions.learn(c)
	}
	return nil
}
