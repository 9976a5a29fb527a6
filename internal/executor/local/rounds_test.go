//go:build !race

package local_test

const lawRounds = 20
