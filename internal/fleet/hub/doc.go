// Package hub is the server of a fleet: it computes and signs assignments, and shows the state of
// targets. It never runs programs on a target.
//
//	err := hub.Init(hub.InitOptions{Files: host, Dir: dir, Fleet: "acme", Name: "hub1", …})
//	err = hub.Run(ctx, hub.Config{Files: host, Dir: dir, Compile: compiler, …})
//
// # Several hubs
//
// Each hub has a bus, mirrors of the buckets of the bus in memory, a read model and an HTTP server.
// All hubs answer agents from their mirrors. The leader, which holds the lease, does the work that
// must be done once: it follows the repository, folds events into an assign.State, and signs and
// writes assignments. Each assignment contains the number of the lease. So a record of a former
// leader never replaces a record of its successor.
//
// # Parts
//
// The type Hub starts and stops its parts, connects them, and shows its health. Each part is a package
// with explicit dependencies. records contains the buckets and their mirrors, targets the registry,
// members the hubs of the fleet, keyring the keys that this hub trusts. repository, leader, assignments
// and contents are the way from a commit to an agent. notices, jobs, certificates, users, requests,
// exports, binaries and executors are topics of operations. Parts record events through events, and
// bound the work of targets through limits.
//
// A core has the state that most parts use; open fills it step by step. newParts creates the parts,
// and passes to each the parts that it uses. A part cannot reach other parts.
//
// # The directory of a hub
//
//	hub.json       the name of the hub, its addresses and its settings
//	authority/     the key of the fleet CA, on the hub that created the fleet; may be moved off-line
//	keys/          the keys and certificates of this hub
//	bus/           the buckets and the log
//	identity       the private key with which this hub decrypts secrets of tasks
//	notify/        secrets and programs to which rules of notifications refer
//	hook-secret    the secret with which a git server signs its webhooks
//	oidc-secret    the secret of the hub at the OIDC provider of hub.json
//	oidc-ca.pem    the certificates of the CA of this provider
//	task-attempts.json  the newest attempt of each task on this hub
//	content/       bundles and proofs, by digest
//	mirror/        the repository, bare
//	compared/      commits that users compared, bare
//	view.db        the read model; if it is missing, the hub creates it again
package hub
