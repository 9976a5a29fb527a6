// Command fleet measures a hub with very many agents.
//
//	go run ./test/bench/fleet -fettle bin/fettle -date 2026-01-31
//	go run ./test/bench/fleet -agents 500 -rest 5s
//
// The hub is the real binary with its own directory and git repository. The agents are instances of
// package agent. Each has its own key and certificate, its connection over mutual TLS, its outbox and
// its requests for content. They run in child processes with up to 5000 agents each, with their disks
// in memory. Only the changes of hosts are simulated: a run succeeds immediately. The bundles of the
// first assignment exist already; later bundles are fetched.
//
// For each number of agents, the command enrols all agents over HTTPS, connects them, and pushes
// commits that change a module of all agents. Some commits reach all agents at once, and some in waves. It
// waits until the hub is idle and measures it, kills the hub with SIGKILL, and starts it again: all agents
// reconnect from one address. It repeats this while other addresses attack the hub. Then it kills the hub and
// deletes its data, and finally restores its directory from an old backup. All agents must get in sync with a
// commit that was made meanwhile, and no agent may receive two assignments with the same generation. The
// command prints a table and writes docs/performance-fleet.md.
//
// With -pages 200, it repeats the commits in waves while 200 pages of 20 users are open. It prints the CPU time of the
// hub with and without open pages.
//
// # The limit
//
// For comparison, the command measures the minimum cost of the parts in separate processes. "TLS
// alone" is a program of ten lines that only accepts the same number of connections. "The bus alone"
// is the message bus of fettle with idle connections, without registry, views or a repository.
//
// Hub and agents share the CPUs of this host. A hub on its own host has shorter wall times; its CPU
// times and its memory are the same.
package main
