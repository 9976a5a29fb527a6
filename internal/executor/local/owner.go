package local

import "fettle.dev/fettle/internal/repo"

// ownerAfter is the repository and the target of the state after a rollback: those of the
// state that it goes back to. The origin has none, and a state of an earlier version has
// no repository; these keep the present one.
func ownerAfter(g rollbackGoal) (*repo.Identity, string) {
	if g.then.Run > 0 && g.then.Repository != nil {
		return g.then.Repository, g.then.Target
	}
	return g.now.Repository, g.now.Target
}
