//go:build !race

package order

// rounds is how many repositories are drawn.
const rounds = 100
