// Package fire tests packages on a real Debian host while everything goes
// wrong: whoever works on them is killed at many points of a transaction, locks
// are held, configuration files conflict, scripts fail, archives are gone.
//
//	go test ./test/fire
//	FETTLE_CAMPAIGNS=docs/campaigns.md FETTLE_LONG=1 go test -timeout 60m ./test/fire
//
// A point is a system call by which apt-get, dpkg or a script of a package
// would change a file. The test follows fettle and all that it starts as a
// debugger does, counts these calls, and kills at the Nth, before the call has
// an effect. So the same N is the same point again, and none is out of reach.
package fire
