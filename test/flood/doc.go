// Package flood attacks a hub that has little: 1,500 open files and 256 MiB of memory.
//
//	go test ./test/flood                  # each attack for some seconds
//	FETTLE_LONG=1 go test ./test/flood    # each attack for a minute
//
// The hub is the real binary in a memory cgroup. The attackers have no certificate and no token. They use each
// route that is open to them, from one address and from many: with idle connections, with handshakes and
// bodies that do not end, with bodies above the limits, and with invalid tokens.
//
// During each attack the hub serves a user, root and a new host, and fetches a new commit. An agent keeps its
// connection. The kernel kills no process.
package flood
