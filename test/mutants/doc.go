// Command mutants breaks the code on purpose, one small change at a time, and
// reports the changes that no test notices.
//
//	go run ./test/mutants -count 80 -seed 7 internal/journal
//	go run ./test/mutants -tests internal/plan,internal/apply internal/plan
//	go run ./test/mutants -list internal/journal | less
//
// A mutant is one edit of one file: a condition negated, one side of an && or ||
// dropped, a comparison moved by one, a list made longer or shorter by a value, a
// statement left out, an error forgotten. It exists only in the overlay of a build;
// the tree is never changed. Only mutants that compile count, so a mutant is killed only by a test.
//
// All mutants of a package share one build of the tests, and an environment variable chooses one of
// them when the tests run. Mutants that cannot share it, such as those of constants, have a build each.
// The same build records which test reaches which mutant. For each mutant only those tests run, the
// fastest first, until one fails. The tests run in their short form first. If they have one, all tests
// then run in full for the survivors. A test that takes several times its usual CPU time has failed.
//
// By default, only the package's own tests count. If the meaning of a package shows only in others,
// name all packages whose tests count with -tests, its own first: they are faster and name
// the error. The tests of a package run only for mutants that survived the packages before it. Name
// tests that take minutes with -skip. internal/plan is such a package: a plan is right if applying it has
// the desired effect, which the tests of internal/apply and internal/executor/local state. Processes
// that a test starts are the mutant too, unless the test clears their environment.
//
// Mutants without any visible effect are listed in equivalent.txt, each with the reason. A line is what
// the report prints for a survivor, with the reason behind it. If the mutant of a line no longer
// exists, the line is an error, because the reason may have gone with the code.
package main
