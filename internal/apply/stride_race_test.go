//go:build race

package apply_test

// stride: under the race detector, which is many times slower, every seventh
// operation is broken.
const stride = 7
