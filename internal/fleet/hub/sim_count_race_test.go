//go:build race

package hub

// simulatedHistories is the number of random histories: the first third of those without the race detector, which is
// four times slower.
const simulatedHistories = "2"
