// Package outside kills fettle at random moments on booted hosts with a real
// service manager, has it recover, and looks whether everything is as before or
// as after: files, accounts, units, and what the services have loaded.
//
//	go test ./test/outside
//	FETTLE_LONG=1 go test -timeout 60m ./test/outside
//
// The moments come from a seed, and lie between the start of a run and some time
// after its end: some kills must come too late.
package outside
