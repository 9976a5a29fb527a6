// Package pastbugs restores fixed bugs in the source, one at a time, and checks that the test for each
// bug still fails.
//
//	go test ./test/pastbugs                 # every bug can still be put back
//	FETTLE_LONG=1 go test ./test/pastbugs   # and its test fails
//
// A bug is a file *.txtar. Its comment describes the bug, and has lines "KEY: VALUE" with the file,
// and with the package and name of the test. "old" is a unique piece of the present file, and "new" is
// its text with the bug. The bug exists only in the overlay of a build: the tree does not change.
package pastbugs
