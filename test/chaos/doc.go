// Package chaos runs a fleet of three hubs and eight agents under faults, and judges what it did.
//
//	FETTLE_LONG=1 go test -timeout 1h -v ./test/chaos                              # 5 minutes each, fixed seeds
//	FETTLE_CHAOS=2h go test -timeout 3h -v -run TestChaos ./test/chaos             # the long form
//	FETTLE_CHAOS=1m FETTLE_CHAOS_SEED=7 FETTLE_CHAOS_ONLY='disk|paused' go test …  # some faults, from a seed on
//	FETTLE_CHAOS_PROGRAM=bin/fettle FETTLE_CHAOS=1m go test …                      # a given binary, without clock jumps
//
// Each hub and each agent is the real binary, as a process in a network namespace. A hub stores
// its directory on a small disk. An agent has a root directory over the files of this machine.
// The test starts a process again that ends by itself, as systemd does.
//
// A seed decides the order of the faults, their targets and the operations meanwhile. One
// round injects one fault, runs operations (commits, jobs, freezes), heals the fault and waits
// until the fleet converges. Each round ends with a judgement:
//
//   - An agent never gets two assignments with one number and different content, and never an
//     older number than before.
//   - A job runs at most once on each agent. A job that a hub accepted runs on each agent, or the
//     hub reports that it was interrupted. A job that a hub refused never runs.
//   - The hubs have each report of each agent exactly once.
//   - After the fault is healed, a new commit arrives at each agent within the limit.
//   - All hubs agree on hubs, targets and modules, and no hub ever reports that a target is ready
//     at a commit which its host does not have.
//   - A hub that runs answers read requests at any time.
//   - No process panics.
//
// A run that fails prints what each hub reports, what each agent has, and the end of each log. With
// -artifacts -outputdir DIR, it stores all logs with the goroutines of each process.
//
// The clock of a hub jumps in a binary whose package time adds an offset. A static binary reads the
// clock of the kernel directly, so libfaketime cannot change it. A time namespace has no
// offset for the real-time clock.
//
// TestSlotsOfHosts and TestBarrierOfHosts run histories of locks and barriers in the same way. Programs on the hosts
// store their times and tokens. The judges use these records:
//
//   - At most two hosts work with a slot at the same time. Tokens increase in the order of time, and no two hosts have
//     the same one.
//   - The slot of a host that does not return is free after its lease.
//   - After the faults, each host works again.
//   - No host continues at a barrier before all members have arrived. If the missing member is retired, all other hosts
//     continue.
//
// TestUpgrade upgrades a fleet from an older commit, one hub or agent at a time. The same judges apply.
//
// The run cannot show the loss of unsynced writes. It cannot delay packets either, because the kernel
// of the test machine may not have sch_netem: a slow link drops packets instead.
package chaos
