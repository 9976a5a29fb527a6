//go:build !race

package apply_test

// stride: every operation is broken.
const stride = 1
