// Package agent is the daemon on a target. It applies the assignments of its fleet, with or without
// a connection to hubs. The package machine decides; this package executes the decisions: it talks
// to hubs, fetches content, compiles, applies, watches files and stores state.
//
//	a, err := agent.New(agent.Config{Dir: dir, Link: link, Runner: runner, …})
//	err = a.Run(ctx) // until ctx ends
//
// The dependencies are small interfaces and functions of this package. The package does not depend
// on a transport, on certificates or on a terminal.
package agent
