// Command mutants breaks the code on purpose, one small change at a time, and
// tells which changes no test notices.
//
//	go run ./test/mutants -count 80 -seed 7 internal/journal
//	go run ./test/mutants -list internal/journal | less
//
// A mutant is one edit of one file: a condition negated, one side of an && or ||
// dropped, a comparison moved by one, a list made longer or shorter by a value, a
// statement left out, an error forgotten. It exists only in the overlay of a build;
// the tree is never touched. Only mutants that compile count, so that whatever fails
// afterwards was seen by a test.
//
// The tests of a package run in their short form first, and in full for what
// survived that. A test that does not end counts as one that fails.
//
// Mutants that change nothing anybody could see stand in equivalent.txt, each
// with the reason; a line is what the report prints for a survivor, with the
// reason behind it. A line whose mutant does not exist any more is an error: the reason may have
// gone with the code.
package main
