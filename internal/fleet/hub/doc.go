// Package hub is the role that holds assignments and views. It computes and grants; it
// never runs anything on a target.
//
//	err := hub.Init(hub.Birth{Files: host, Dir: dir, Fleet: "acme", Name: "hub1", …})
//	err = hub.Run(ctx, hub.Config{Files: host, Dir: dir, Compile: compiler, …})
//
// # One process, any number of them
//
// A hub has a bus, the mirrors of the bus's buckets in memory, a read model and an HTTP
// server. All hubs answer agents out of their mirrors. What has to be done once is done by
// the one that holds the lease: it follows the repository, folds what happened into an
// assign.State, computes, signs, and writes assignments with the lease's number, so that
// what a deposed hub still writes is told from what its successor wrote.
//
// # What is in the directory
//
//	hub.json       what this hub is called and where it listens
//	authority/     the fleet's authority, on the hub that made it; may be taken off-line
//	keys/          this hub's own
//	bus/           the buckets and the log
//	notify/        secrets and programs that rules of notification name
//	hook-secret    what a git server proves its hooks with
//	content/       bundles and proofs, by digest
//	mirror/        the repository, bare
//	view.db        the read model; deleted, it is made again
package hub
