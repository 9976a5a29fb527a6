// Package rollouts connects the decisions of package rollout with the assignments and the store of a hub. It
// stores the log of rollouts, describes the fleet for decisions, and permits changes.
//
//	log := rollouts.NewLog(table.Rollouts)
//	turn, err := log.Begin(ctx)                     // of the hub that leads
//	grant := turn.Plan(fleet, desired)              // for assign.Input.Plan
//	err = turn.Store(ctx)                           // before the assignments are published
//	turn.End()
//	events, err := log.Order(ctx, command, now)     // on any hub
//
// # The log
//
// An entry of the log has a number as its key, and is created only if the number is free. So a hub whose
// decision is outdated, for example because another hub leads, cannot store it: it reads the new entries and decides
// again. A state that was not stored is discarded.
//
// # Parts of assignments
//
// The parts of an assignment that rollouts deliver are the root bundle and the modules. Labels, the
// binary, freezes and exported values do not wait for a rollout. The digest of a part covers its content, its
// origin and its needs, but not its commit: the same content in a later commit does not count as a change. The log
// contains the content of each part that a rollout replaces, so that a rollback can deliver it again.
package rollouts
