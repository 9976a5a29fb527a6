// Package modules compares the modules that are linked into the binary with a list.
//
//	go test ./test/modules           # fails for a module or licence that is not listed
//	go test ./test/modules -update   # writes docs/modules.md: read the difference
//
// A new module adds trust in its authors, possible defects and a licence. The list makes this decision
// visible.
package modules
