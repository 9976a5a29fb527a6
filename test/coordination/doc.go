// Package coordination runs random histories of locks and barriers with 20 hosts and three hubs, in virtual time.
//
//	go test ./test/coordination                               # a part of the histories, as make test runs them
//	FETTLE_LONG=1 go test -timeout 2h ./test/coordination     # 10,000 histories of locks, and 10,000 of barriers
//	go test ./test/coordination -rounds 50 -seed 7            # other histories
//
// The code of the hubs, of the agents and of the runs is the real one. Only the store, the network, the clocks and the
// work of a run are simulated. Runs, agents and hubs are killed, and hosts lose their power. Requests and answers are
// lost or arrive late. Hosts and hubs are partitioned, reads are outdated, and the clocks of hubs jump.
//
// The hosts record in true time when their work begins and ends. The judges use these records, and no code of fettle:
//
//   - At most as many hosts work at the same time as the lock has slots.
//   - The slot of a host that does not return becomes free after its lease, if the lock is declared so.
//   - An order of the requests explains all answers of the hubs (porcupine), for locks with on_expiry = "keep" and for
//     barriers.
//   - A barrier opens only if enough members wait, or waited a short time before. A wait passes at most one generation,
//     and each member of a generation has one wait. A wait whose generation opened gets this answer.
//   - A barrier opens if its last missing member is retired.
//
// The packages internal/fleet/hub and test/chaos test the same with real hubs.
package coordination
