// Command cover measures how much of the engine its own tests run, and fails
// where that is less than the floors say.
//
//	go run ./test/cover                          # runs the tests, prints a table
//	go run ./test/cover -profile dist/cover.out  # of tests that ran before
//
// floors.txt has a line for each package or file, sorted: its path below the
// module and the percentage of statements that has to be run. The tests of all
// packages in it run, and what any of them runs counts for all: the engine's
// parts are tested through each other. Floors only rise.
package main
