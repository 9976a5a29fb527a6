// Command hosts measures work on many machines over SSH: fettle beside ansible-core
// and beside OpenSSH alone, which is the limit.
//
//	go run ./test/bench/hosts -fettle bin/fettle -date 2026-01-31
//	go run ./test/bench/hosts -works '^no change' -tools 'limit|fettle' -hosts 20
//
// The work is four operations on each host: a directory, a file with the name of the
// host in it, a line in a file that is there, and a command that runs once. The
// command prints a table, and writes docs/performance-hosts.md unless -works or
// -tools choose a part.
//
// # The hosts
//
// Each host is an sshd of this machine's OpenSSH in a root, a mount namespace, a
// process namespace and a name of its own: this machine's files below a layer in
// memory. Its address is one of the loopback of a network that ends with the
// benchmark, and it has a host key of its own. All of them are on the processors on
// which the tools run too, so that a tool which leaves the work to the hosts gains
// nothing by it here.
//
// # How it measures
//
// In a round all tools do a work one after another, and the first one changes from
// round to round; ratios are taken within a round. Before each run every host is
// brought to where the work begins, and kept connections are ended, unless the work
// is about those. After each run every host is looked at: a tool that left anything
// else has no figure. The processor time is that of all processes of the tool on this
// side, and that of the hosts, each read from a control group.
//
// The second field is five hosts behind a relay that holds every chunk back for
// half a round trip, and one in twenty of them for a retransmission more.
package main
