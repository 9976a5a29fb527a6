// Package elastic decides how many hubs a fleet has, which hosts are hubs, and which hubs vote. It is pure: a state,
// an observation and a time give a new state and a decision. The leading hub calls Decide every few seconds, and stores
// the state where the next leader finds it.
//
//	next, d := elastic.Decide(state, elastic.Input{Leader: "hub1", Hubs: hubs, Nodes: nodes, Policy: policy}, now)
//	if d.New && policy.Mode == elastic.Act {
//		next = next.Accept(d, now) // store it, and then perform d
//	}
//
// # Meaning
//
// A hub serves agents. A voter also stores the shared data, and has a vote in the store and for the leader. A hub
// without a vote is a relay. The number of voters is odd: 1, 3 or 5. A node is a host that can become a hub. A nominee
// is a node that was chosen and is not ready yet.
//
// The size is the desired number of hubs. It grows if the load of the hubs is high for some time. It shrinks if the
// load would be low with fewer hubs, for a longer time. So a change of the size never causes the opposite change. With
// one hub, the next larger size is three, because two hubs cannot replace each other.
//
// The hubs then follow the size in single changes, with a minimum time between them:
//
//   - nominate: a node becomes a relay, in the failure domain with the fewest hubs.
//   - vote: other hubs vote. The set changes from one odd number to another odd number. Only hubs that have all data
//     get a vote. The caller gives new votes first, then takes the votes of hubs that do not answer, and then others,
//     one after the other. Most voters must answer before and after each step.
//   - empty: a relay moves its agents to other hubs.
//   - retire: a relay without agents, or a relay that failed, is no longer a hub.
//   - withdraw: a nominee that was not ready in time is no longer a nominee. It is not nominated again for some time.
//
// Voters can share a failure domain. If a node is in a domain without a hub, the node then becomes a hub, and votes
// instead of one of these voters.
//
// A voter is never retired: it must first lose its vote, and most of the remaining voters must work. Fixed hubs are
// never retired: an operator joined them, or they have the key of the fleet CA.
//
//   - Absence: a fleet without a state begins with its present number of hubs. A node without a failure domain belongs
//     to the domain "".
//   - Failure: a hub that did not answer, did not have all data, or had too little free disk for FailAfter has failed.
//     Another hub replaces it. Until then it keeps its vote, because the number of voters is odd.
//   - Unknown: a hub that does not report its load does not count for the load, and while there is such a hub,
//     the size does not shrink.
//   - Quorum: if most voters do not answer, nothing changes.
//   - Repetition: a change that was accepted is returned again by each call until the observation shows its effect. So
//     the caller must perform changes idempotently.
//   - Interruption: the caller stores the accepted change before it performs it. The next leader continues it.
//   - A different leader, or a clock that jumps: all waiting times begin again, so that no hub fails because the new
//     leader has not heard of it yet.
//   - A different mode: with Propose, decisions are returned and never accepted. An accepted change is forgotten, and a
//     hub that moves its agents serves again.
package elastic
