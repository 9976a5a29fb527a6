//go:build race

package order

// rounds: under the race detector, which is many times slower, a tenth.
const rounds = 10
