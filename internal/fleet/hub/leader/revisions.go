package leader

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// read compiles commits for the targets that exist now.
func (t *term) read(ctx context.Context, commits []string, targets []fleet.Target) error {
	for _, commit := range commits {
		c, err := t.contents(ctx, commit, targets)
		if err != nil {
			return err
		}
		t.revisions[commit] = c
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
