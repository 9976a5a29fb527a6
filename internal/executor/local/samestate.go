package local

import (
	"slices"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// sameState has the runs that left the state of a goal: the goal itself, and complete rollbacks to one of
// these runs. The first rollback decides what the state of the goal is, so a second one changes nothing. A
// rollback that skipped blocked addresses is not complete: it left them in another state.
type sameState map[int]bool

// restoredBy reports whether a run was a rollback to this state, and adds the run if it was complete.
func (s sameState) restoredBy(recs []journal.Record, did planActions) bool {
	if len(recs) == 0 || recs[0].Header == nil || recs[0].Header.Operation != journal.OpRollback || !s[recs[0].Header.To] {
		return false
	}
	if last := recs[len(recs)-1]; last.Outcome == journal.Succeeded && !slices.Contains(did, plan.Blocked) {
		s[recs[0].Header.Run] = true
	}
	return true
}
