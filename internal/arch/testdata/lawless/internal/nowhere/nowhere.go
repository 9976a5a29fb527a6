// Package nowhere stands on no floor.
package nowhere

func Nobody() {
	panic("TODO: not implemented, see issue #7") //nolint
}
