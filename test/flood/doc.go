// Package flood attacks a hub that has little: 1,500 open files and 256 MiB of memory.
//
//	go test ./test/flood                  # each attack for some seconds
//	FETTLE_LONG=1 go test ./test/flood    # each attack for a minute
//
// The hub is the real binary in a memory cgroup. The attackers have no certificate and no token. They
// open idle connections, stop in the middle of handshakes and of bodies, send bodies above the limits, and
// try invalid tokens at each route that is open to them: from one address and from many.
//
// During each attack the API answers a user, the socket answers root, the hub fetches a new commit, an agent
// keeps its connection, and another host enrols and connects. The kernel kills no process.
package flood
