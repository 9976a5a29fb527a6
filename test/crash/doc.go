// Package crash kills the real program just before each of its mutating
// operations in turn, lets recovery settle what that left, often with a second
// kill inside, and compares the tree with those before and after the run.
//
//	go test ./test/crash
//
// It needs no privileges: the machine is a directory. The program is built with
// the tag fettlefault, which gives it the counter.
package crash
