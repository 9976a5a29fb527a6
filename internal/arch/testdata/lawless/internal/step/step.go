// Package step has nothing wrong with it.
package step

// Max is a bound.
const Max = 1
