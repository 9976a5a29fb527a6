// Package pastbugs puts fixed bugs back into the program, one at a time, and checks
// that the test that was written for each still finds it.
//
//	go test ./test/pastbugs                 # every bug can still be put back
//	FETTLE_LONG=1 go test ./test/pastbugs   # and its test fails
//
// A bug is a file *.txtar. Its comment says what went wrong, and in lines
// "KEY: VALUE" the file that it was in, and the package and name of the test.
// "old" is a piece of the file as it is today, which stands in it once; "new" is
// the bug. It exists only in the overlay of a build: the tree is never touched.
package pastbugs
