//go:build race

package local_test

// lawRounds: under the race detector, which is many times slower, a tenth.
const lawRounds = 2
