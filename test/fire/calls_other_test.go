//go:build !amd64

package fire

// olderCalls are those that newer architectures do without.
func olderCalls() map[uint64]call { return nil }
