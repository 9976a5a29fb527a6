// Command cover measures the statement coverage of the engine by its own tests. It fails if the
// coverage is below a floor.
//
//	go run ./test/cover                          # runs the tests, prints a table
//	go run ./test/cover -profile dist/cover.out  # of tests that ran before
//
// floors.txt has a sorted line for each package or file: its path below the module and the minimum
// percentage of statements. The tests of all these packages run, and each test counts for all
// packages, because the parts of the engine are tested through each other. Floors only rise.
package main
