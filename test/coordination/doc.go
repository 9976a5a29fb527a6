// Package coordination runs random histories of locks and barriers with 20 hosts and three hubs, in virtual time.
//
//	go test ./test/coordination                               # a part of the histories, as make test runs them
//	FETTLE_LONG=1 go test -timeout 2h ./test/coordination     # 10,000 histories of locks, and 10,000 of barriers
//	go test ./test/coordination -rounds 50 -seed 7            # other histories
//
// Each minute, a test prints the number of histories so far.
//
// The code of the hubs, of the agents and of the runs is the real one. Only the store, the network, the clocks and the
// work of a run are simulated. Runs, agents and hubs are killed, and hosts lose their power. Requests and answers are
// lost or arrive late. Hosts and hubs are partitioned, reads are outdated, and the clocks of hubs jump.
//
// The hosts record in true time when their work begins and ends. The judges use these records, and no code of fettle:
//
//   - At most as many hosts work at the same time as the lock has slots.
//   - The slot of a host that does not return becomes free after its lease, if the lock is declared so.
//   - An order of the requests explains all answers of the hubs (porcupine), for locks and for barriers. The lease of a
//     request may end only after the lease and the grace, and not after the answer to a later request.
//   - A barrier opens only if enough members wait, or waited a short time before. A wait passes at most one generation,
//     and each member of a generation has one wait. A wait whose generation opened gets this answer.
//   - A barrier opens if its last missing member is retired.
//
// The package test/chaos tests the same with processes of hubs, agents and runs, and internal/fleet/hub with real hubs.
package coordination
