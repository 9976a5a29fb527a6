// Package barrier decides when the members of a barrier have arrived. It is pure: a state, an event and a time give a
// new state and an answer. The hubs store the state of each barrier under one key with compare-and-set, so that all
// hubs together make one decision after another.
//
//	next, answer := barrier.Decide(state, barrier.Event{Kind: barrier.Arrive, Target: id, Run: "r7", Members: m}, now)
//	if answer.Open { … answer.Generation }
//
// # Meaning
//
// Targets arrive at a barrier and wait. When enough members have arrived, the generation opens, and all of them
// continue. The next arrival belongs to the next generation.
//
//   - Identity: an arrival has a target and a run. A repetition of the same run gets the same answer, also after the
//     generation opened, for PassTime. Another run of the same target replaces its arrival, so a target counts once.
//   - Renewal: an arrival ends after ArrivalTime without a repetition. So the arrival of an agent that was killed ends.
//   - Withdrawal: Withdraw ends an arrival. If its generation is already open, the answer says so, and the target
//     continues with the other members.
//   - Members: the caller evaluates them for each event. A member that is absent does not count, so fewer arrivals are
//     required: it is not enrolled, retired, revoked, a suspect clone, frozen, or offline for the declared time. A
//     frozen or offline member that arrives counts.
//   - Quorum: all members that count, a number, or a percentage of them, rounded up. A number does not shrink.
//   - No members: the barrier does not open. The arrival of a target that is not a member is refused.
//   - An unknown or undeclared barrier: arrivals are refused. A generation that opened before remains open for its
//     runs.
//   - Another leader, or several hubs: nothing changes, because the state contains all decisions.
//   - Delays: a request to arrive has no effect if the target sent a withdrawal, or a request of another run, later.
//     Without an order of the requests, it counts for ArrivalTime. So does a late request of a run that was killed.
//   - Clocks: a hub measures ArrivalTime with a clock that does not jump, from the moment at which it saw the last
//     repetition. So the arrival of an agent that was killed counts longer for a hub that started since. A clock that
//     jumps forward by PassTime makes hubs forget open generations.
//   - A fleet that was restored from a backup: earlier arrivals do not count. Targets that still wait arrive again. A
//     target that did not learn that its generation opened waits until its timeout.
package barrier
