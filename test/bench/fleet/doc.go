// Command fleet measures a hub with very many agents.
//
//	go run ./test/bench/fleet -fettle bin/fettle -date 2026-01-31
//	go run ./test/bench/fleet -agents 500 -rest 5s
//
// The hub is the real program with a directory and a git repository of its own. The
// agents are those of package agent, each with its own key and certificate, its link
// over mutual TLS, its machine, its outbox and its requests for content; they live in
// processes of up to 5000, which this one starts, and their disks in the memory there. Only
// what an agent does to its host is left out: a run ends at once, in sync. What they were
// assigned first they have without fetching it; what changes later they fetch.
//
// For each number of agents the command lets all enrol by the hub's HTTPS, connects
// them, pushes commits that change one module which all have, waits until the hub rests
// and reads what it takes then, kills it with SIGKILL in the midst of its fleet, and starts
// it again. Then it kills it and deletes what it keeps, and at last makes its directory of an
// old backup: all agents have to become what a commit says that came meanwhile, and none
// may see a generation that it saw before with something else in it. It prints a table and
// writes docs/performance-fleet.md.
//
// # The limit
//
// Beside a figure of the hub stands what the parts cannot do without, from processes of
// their own: TLS alone is a program of ten lines that takes as many connections and
// nothing else; the bus alone is fettle's message bus with links that rest, without
// registry, views or a repository.
//
// Hub and agents share the processors of this machine. A hub with its own is faster than
// the wall times here; its processor times and its memory are the same.
package main
