// Package modules compares the modules that are linked into the program with a list.
//
//	go test ./test/modules           # fails for a module or licence that is not listed
//	go test ./test/modules -update   # writes docs/modules.md anew: read the difference
//
// Whoever adds a module takes on its authors, its faults and its licence. That
// is a decision, and the list is where it shows.
package modules
