// Package assign decides what each target of a fleet is to be: from the registry, what
// the repository says at some revisions, and what people have pinned, frozen and
// approved, it makes assignments, for those targets alone that are to become something
// else. It is pure: it reads no clock, no store and no git.
//
//	s := assign.NewState(epoch, "main")
//	s.Fold(assign.Event{Rev: 7, What: assign.TargetEvent, Key: id, Target: &target})
//	s.Fold(assign.Event{Rev: 3, What: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commit}})
//	for _, commit := range assign.Needed(s.Input(now, revisions)) {
//		revisions[commit] = …                                    // compiled in a limited child
//	}
//	out := assign.Compute(s.Input(now, revisions))
//	…                                                            // sign, store, publish
//	s.Took(out)
//
// # What a target gets
//
// A target that is active gets the top of the repository and its modules, from the
// commit of the branch that the fleet follows, or from that of a pin. One that is
// retired or revoked, and had something, gets an assignment that is withdrawn; one that
// is pending gets nothing. A bundle that did not change keeps the revision at which it
// came, so that a commit which changes one module changes nothing for a target without it.
//
// # What keeps things as they are
//
// Whatever cannot be known changes nothing and raises an Alarm: a source that cannot be
// read, a pin that does not resolve, pins that contradict each other, a target whose
// modules have a mistake, a target that the registry has lost. The same for a module
// that would lose all of its targets, or more than a tenth and more than five of them: those
// who would lose it keep all that they have, until somebody approves the new set by its
// digest. Targets that a person has retired or pinned do not count as lost.
//
// # Order
//
// Neither the order of targets nor that of events counts: an event carries the whole of
// one thing with the revision of its entry, and the highest one stands. So a hub that
// reads registry and git anew comes to the same state, and from it to the same wants.
//
// # Waves
//
// What a target is to be and when it may become it are two questions. The second one is
// Input.Grant, which today is AtOnce: it may hold back all of an assignment, or modules
// of it.
package assign
