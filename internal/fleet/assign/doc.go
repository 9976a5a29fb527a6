// Package assign decides the assignment of each target of a fleet. Its inputs are the registry, the
// compiled repository at some revisions, and the pins, freezes and approvals of users. It returns
// new assignments only for targets whose assignment changes. The package is pure: it uses no clock,
// no store and no git.
//
//	s := assign.NewState(epoch, "main")
//	s.Fold(assign.Event{Rev: 7, Kind: assign.TargetEvent, Key: id, Target: &target})
//	s.Fold(assign.Event{Rev: 3, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commit}})
//	for _, commit := range assign.Needed(s.Input(now, revisions)) {
//		revisions[commit] = …                                    // compiled in a limited child
//	}
//	out := assign.Compute(s.Input(now, revisions))
//	…                                                            // sign, store, publish
//	s.ApplyOutput(out)
//
// # The assignment of a target
//
// An active target gets the root bundle of the repository and its modules. Their commit is the
// commit of the fleet's branch, or of a pin. A retired or revoked target with an assignment gets a
// withdrawn assignment; a pending target gets none. An unchanged bundle keeps its previous
// revision, so a commit that changes one module does not change the assignments of targets without
// this module.
//
// # Unchanged assignments
//
// If an input is missing or contradictory, assignments stay unchanged and an Alarm is raised.
// Examples are an unreadable repository, contradicting pins, an error in the modules of a target,
// or a missing registry entry.
//
// The same applies to a module that would be removed from too many targets: from all of its
// targets, or from more than a tenth and more than five of them. These targets keep their whole
// assignment until a user approves the change by its digest. Targets that a user has retired or
// pinned do not count as removed.
//
// # Order of events
//
// The order of targets and of events has no influence: an event contains the complete value of one
// object and the revision of its entry, and the highest revision wins. So a hub that reads the
// registry and the repository again gets the same state, and computes the same assignments.
//
// # Waves
//
// The desired assignment and the time of its delivery are separate decisions. Input.Plan makes the
// second one: it gets the desired assignments of all targets, and returns a Grant, which may hold back an
// assignment or some of its parts. The default is AtOnce.
package assign
