//go:build !race

package hub

// simulatedHistories is the number of random histories.
const simulatedHistories = "6"
