package local

import "fettle.dev/fettle/internal/repo"

// ownerAfter is the repository and the target of the state after a rollback. Both are
// copied from the state that the rollback restores. The origin has neither, and a state
// of an earlier version has no repository; then the present values stay.
func ownerAfter(g rollbackGoal) (*repo.Identity, string) {
	if g.then.Run > 0 && g.then.Repository != nil {
		return g.then.Repository, g.then.Target
	}
	return g.now.Repository, g.now.Target
}
