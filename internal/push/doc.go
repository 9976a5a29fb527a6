// Package push performs a rollout from a workstation, without a hub: the workstation changes the targets wave by
// wave, checks them, and returns them to their previous state if too many fail.
//
//	m := push.New(push.Order{Strategy: strategy, Content: revision.Digest, Targets: names})
//	d := push.Driver{Machine: m, Log: log, Do: do, Now: time.Now, Tick: tick}
//	phase, err := d.Run(ctx)
//
// Package fleet/rollout decides, with the same strategies as in hubs. Machine is pure: it adds the knowledge about the
// targets and returns tasks. Driver performs the tasks and stores the log before it starts them.
//
// # Meaning
//
//   - The change of the rollout is the content of the repository: a target has it or not.
//   - First, each target is planned. A target without changes does not take part. A target without contact is planned
//     again every 15 seconds; until then it is pending.
//   - A target is healthy if its run and its checks succeeded. Its checks are repeated until the rollout ends. A failed
//     check or a lost connection counts as in a rollout of a hub.
//   - A target returns by a rollback to its state before the rollout. If another run followed, it is not rolled back,
//     and counts as failed. A target on which nothing was applied before keeps the change.
//   - A target whose windows are closed is not changed: it waits until they open, and its wave does not end before. If
//     this applies to all targets that need the content, no rollout begins. A run in progress ends as usual, checks are
//     repeated, and a return waits for no window. The first content of a target does not wait either.
//   - The workstation asks the programs of gates while the command runs, as a hub does. A program that answers that its
//     verdict comes later is asked again after the interval of the gate, because it cannot report to a workstation. A
//     gate without a URL waits for such a report, so Adapt refuses it.
//   - A workstation cannot verify users: one decision of the operator is for all users of an approval gate. The
//     operator is asked when nothing else delays the wave. If the operator cannot be asked, the command ends, and the
//     next one contains the decision. It has no effect if the gate does not wait any more.
//   - Verdicts and approvals in the log count while their wave remains ready, also after an interruption. The timeout
//     of a gate begins again.
//   - After an interruption, no wave ends before each ready target with contact was checked. The bake time includes
//     the interruption.
//   - All modules of a target are applied together, so a target with a module that waits for another module waits as a
//     whole, and not for itself. Such targets belong to later stages: the waves of the strategy are repeated for each
//     stage. A target gets the change only while enough other targets have contact and the content, and are healthy.
//     If this lasts until the timeout of the wave, the rollout pauses. A rollback returns the targets of all stages.
//     Order.Impossible returns a reason if targets wait for each other, or for too few selected targets.
//   - An interrupted rollout starts no further task. The same order with the same content continues from the log. A
//     rollout that paused continues only with Order.Resume: the failures up to then count as accepted.
//   - An order with other content, another strategy or other targets is a new rollout.
//   - A rollout is exclusive for a repository on a workstation, and not between workstations: hosts only permit one run
//     at a time.
package push
