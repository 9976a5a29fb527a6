// Package fire tests changes of packages on a real Debian host with faults: processes are killed at
// many points of a transaction, locks are held, configuration files conflict, scripts fail, and
// archives are missing.
//
//	go test ./test/fire
//	FETTLE_CAMPAIGNS=docs/campaigns.md FETTLE_LONG=1 go test -timeout 60m ./test/fire
//
// A point is a system call by which apt-get, dpkg or a script of a package would change a file. The
// test traces fettle and its children with ptrace, counts these calls, and kills a process before the
// Nth call has an effect. Therefore the same N is always the same point.
package fire
