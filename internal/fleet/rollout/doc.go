// Package rollout decides when each target may have a change of its assignment: in waves, as long as the
// targets that have the change are healthy. The package is pure: it uses no clock, no store and no hub.
//
//	s := rollout.NewState()
//	for _, e := range log {
//		s.Fold(e)                                  // after a restart, on any hub
//	}
//	events := s.Decide(world, now)
//	…                                              // store the events
//	allowed, why := s.Allowed(target, lane, change) // publish the permitted changes
//	events, err := s.Order(rollout.Command{Action: rollout.ToPause, Rollout: "r7", By: "jane"}, now)
//
// # Changes and rollouts
//
// An assignment consists of parts, for example a module. A Change is a part with its new content. All new
// changes of the targets of one lane, which is a branch or pin, form one rollout. The targets that want
// one of the changes are its members. Independent changes have their own rollouts, which run at the same
// time. A target takes part in one movement at a time.
//
// A newer content of a part takes the members that want it out of the older rollout. An older rollout
// without members is superseded.
//
// # Lanes
//
// A target has a lane in force, which State.Lane returns, and its desired content selects a lane. If they differ, the
// target keeps its lane until it has all of its desired content, and no open rollout has it as a member. So the content
// that selects another strategy, such as delivery at once, is rolled out with the strategy before. A target without an
// assignment, or whose branch changes, moves at once. So does a target whose changes did not wait for rollouts: it has
// no recorded lane. Content that was aborted selects nothing. The newest commit declares the strategy of a lane; if it
// does not any more, the last declaration of the log counts.
//
// # Waves
//
// The members are distributed to waves when the rollout is created, in an order that depends on its ID.
// The next wave begins when each member of the current wave has a result, enough of them are ready, and the
// bake time is over. Each gate of the wave must also pass after the begin of the bake time. A target that begins to
// need the change later joins the last wave. If the last wave has begun, the target waits for the end of the rollout.
// After the end, the content is stable: targets may have it at any time. A part that no ready member has does not
// become stable, for example because its targets had no contact, or a newer commit reverts it. Targets that still need
// it get it in a new rollout.
//
// # Targets that catch up
//
// A target that lacks stable content, for example because it had no contact, gets the permission for it with an event.
// The last wave of the strategy and its rate limit how many targets of a lane are in progress. A target has its place
// until it is ready, fails, is silent or exceeds the progress deadline. If it cannot be changed before it got the
// content, it loses the permission. New targets have places of their own. A new target that is frozen gets its first
// assignment, which contains the freeze, and takes no place. A target that failed, or has content of a rollout that was
// not complete, takes no place. There are no permissions during World.Resync. Failures stop nothing.
//
// Content that a healthy target had before the first rollout of its part is stable, too.
//
// # Absence, failure and silence
//
//   - A member without contact before its grant is deferred: it has no result, does not count as
//     failed, and gets the content after the rollout. Unless the strategy selects the members of a wave, a
//     member of a later wave takes its place. If too few members of a wave are ready without it, the wave waits for
//     it until its timeout. A member that is held, for example by a freeze, also keeps its wave open.
//   - A wave does not end while a member waits for its window, and closed windows do not count for its timeout.
//   - There is no rollout while none of its targets can be changed.
//   - A report about another assignment does not count. A member is ready if it was ready for the
//     minimum time without interruption since its grant.
//   - A member fails if its run or a check fails, also after it was ready, or if it exceeds the progress
//     deadline. A member that waits for another module has not failed.
//   - A member that had failed before its grant is lost: it gets the change as soon as its wave begins, and does
//     not count as failed or unavailable until it is ready once. If all members of a wave are lost and stay so,
//     the rollout pauses, because no member shows that the change works.
//   - A member is silent if it loses contact after its grant. Time during which the hub did not observe it
//     does not count. If the other targets are as silent, the rollout pauses instead of its reaction.
//   - A rollout without a ready member is never complete.
//
// # Gates
//
// A gate is a condition for the end of a wave: an approval, a metric, a comparison, or the verdict of another program.
// It only returns verdicts, and the rollout acts on them. The hub obtains the verdicts of State.Due, and orders them
// with ToJudge.
//
//   - Verdicts count for one rollout, one wave and one bake time. If the bake time begins again, because a member
//     failed meanwhile, the gates must pass again. So must gates whose failure or errors an operator accepted.
//   - A gate without enough verdicts keeps its wave open. Rollout.Waits is the reason. At Rollout.Deadline the rollout
//     pauses: this is neither a pass nor a failure. The time of the gate begins again after a resumption, with another
//     hub, and when the gate no longer passes.
//   - A failure beyond the limit of the gate is a breach. Errors in succession beyond the limit pause the rollout:
//     a gate that cannot be asked proves nothing.
//   - A comparison needs members that are ready with the change, and members of later waves. With too few values, its
//     verdict is None, and it waits. If no member of a later wave is left, it has no effect.
//   - The gates of a wave without members count if a later wave has members.
//   - A user counts once at an approval. If the author must not count, and is not known as a user of the hub,
//     one user more must approve. A target that joins later gets the change by the same approvals: it has the approved
//     content, and would get it after the end of the rollout in any case.
//   - ToPromote ends a bake time, but no gate. A rollback has no gates.
//   - A gate in a dry run is recorded, and has no effect.
//
// # Additions of stable parts
//
// A target with an assignment that lacks a part gets it in a rollout, also if the content is stable: Change.Adds
// distinguishes this addition from the content. So a failure holds the addition, and not the content of targets that
// have it. The removal of a part does not change which content is stable. The part is owed to some targets, which get
// its stable content like targets that catch up:
//
//   - A member of the rollout did not get it before the end.
//   - The target joined when the last wave of its rollout had begun, or while the part depended on other targets.
//   - An operator changed the labels of the target. This is the reason only if no other one is possible: see
//     Target.Ordered. There must be no rollout of the addition, no hold of it, and no other new change of the target.
//
// A part is not owed any more when the target has it, or does not want it. All of this is in the log. In a log without
// it, members that did not get a part get a rollout of their own.
//
// # Dependence on other targets
//
// A part of Target.Waits must not reach the target yet. Its change is not proposed, a member does not get it, and
// stable content waits, too. A grant that was made remains. Returns and removals do not wait. A rollout that has both
// parts does not wait for itself.
//
// # Changes that require each other
//
// Target.Requires contains changes that the target must have before another change, or together with it. It is closed
// under implication, and removals require nothing.
//
//   - A change is proposed if each change that it requires is proposed with it, or if the target may have it now.
//     While an open rollout delivers only the required change, the change is postponed for all targets of the lane:
//     a rollout of the targets that have the required one already would have the wrong waves. A member without a grant
//     for which the required change also requires the postponed one leaves this rollout. It gets both after the end.
//   - A member is granted its rollout if the rollout has the required change, too, or if it may have this change now.
//     A granted change that requires another one waits nevertheless, for example if an operator skipped the other one.
//   - Returns do not wait. Afterwards the target can have contents that do not fit each other.
//   - A required change that depends on other targets, is held or skipped keeps the change waiting. State.Reason
//     contains the reason of both.
//
// # Domains and rates
//
// A strategy can also limit the unavailable members of a failure domain, and the grants of a minute. Both limits are
// for one rollout. Members that are being applied, failed or are silent are unavailable, unless an operator accepted
// it. If such members keep a domain full, and no other member can be granted, the rollout pauses. A lost member is not
// limited by its domain, but by the rate.
//
// # Organizations
//
// World.Limits are limits of organizations for all rollouts together. A target has the limits of each organization that
// contains its own, so an organization below can only add limits.
//
//   - MaxUnavailable counts the targets that are being applied or returned, failed or are silent, and targets that
//     catch up. A target is granted a change only while each of its organizations has a place. A lost member takes no
//     place, and returns have no limit. If failed or silent targets have all places, the rollout pauses.
//   - A member is granted its rollout after enough users approved the rollout for each of its organizations. A user
//     counts once on a path. A member that waits for it keeps no wave open, and members of later waves take its place.
//     The rollout is not complete before: its content would be stable. There is no time limit.
//   - The limits of the present world count, also for rollouts that began before. The approvals are in the log.
//
// # Breach
//
// As soon as more members failed or are silent than the strategy tolerates, there are no further grants. The
// reaction is a pause, an abort, or a rollback: all members that were granted the change return to their
// previous content. A rollback that fails on a member, or has no contact with it, ends when all members are assigned
// their previous content. After an abort or a rollback the content
// is held: it is not rolled out again until an operator releases it. It is shown as held while a target of the lane
// lacks it, so not after other content replaced it. Stable content is never held.
//
// # Foreign content
//
// If the log was lost, or is an old copy, targets can have content of rollouts that
// the log does not know: see Target.Foreign. They keep it.
//
//   - Stable content replaces foreign content only in a rollout: Change.Adds is set.
//     So a failure holds this change, and not the content of other targets.
//   - If the rollout is rolled back, its members return to their foreign content.
//   - Content that healthy targets have is not stable if it is foreign, unless all
//     targets of the lane have it: its rollout may not have been complete.
//   - A member leaves a rollout that had granted it the change if it has foreign
//     content that is neither the change nor its previous content.
//   - No rollout begins while World.Resync is set and a target has foreign content,
//     because more targets will show their content.
//
// # Interruption
//
// World.Jump is the last jump of the clock of the hub. Time before it does not count for members that are ready, in
// progress or silent. It does not count for bake times either.
//
// The state is a fold over the stored events, and all times in them are absolute. So another hub continues
// where one stopped. While World.Resync is set, because the hub does not know the
// present state of the targets yet, there are no grants and no verdicts. A target that has had no contact for five
// minutes is away. This is in the log, so that a new hub does not wait for targets that were away before it began to
// lead. A rollout of very many targets is stored
// as several events, see Event.Pieces: it exists as soon as all of them are stored.
package rollout
