// Package outside kills fettle at random moments on booted hosts with a real service manager, and
// recovers the run. It then checks that files, accounts, units and the loaded configuration of
// services are completely in the state before or after the run.
//
//	go test ./test/outside
//	FETTLE_LONG=1 go test -timeout 60m ./test/outside
//
// The moments come from a seed, between the start of a run and some time after its end: some kills
// must come too late.
package outside
