// Package agent keeps a target as the hubs of its fleet assign, and goes on doing so
// without them. What to do is decided by the package machine; this one does it: it talks
// to the hubs, fetches, compiles, applies, watches and keeps what must not be forgotten.
//
//	a, err := agent.New(agent.Config{Target: id, Dir: dir, Link: link, Runner: runner, …})
//	err = a.Run(ctx) // until ctx ends
//
// What it needs is declared here as small interfaces and functions, and given by whoever
// starts it. Nothing of it knows a transport, a certificate or a terminal.
package agent
