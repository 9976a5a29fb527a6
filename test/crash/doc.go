// Package crash kills the real binary before each of its mutating operations in turn, and recovers the
// run, often with a second kill during the recovery. It compares the resulting tree with the trees
// before and after the run.
//
//	go test ./test/crash
//
// It needs no privileges: the host is a directory. The binary is built with the tag fettlefault, which
// adds the counter.
package crash
