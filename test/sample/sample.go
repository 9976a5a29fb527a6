// Package sample selects the part of long tests that make test runs for a commit.
//
//	for i, p := range points {
//		if sample.Has(i) {
//			try(t, p)
//		}
//	}
//
// FETTLE_SAMPLE names the commit: make test sets and prints it. Its hash selects one of Parts parts,
// which together are the whole. Without FETTLE_SAMPLE, or with FETTLE_LONG, there is no selection.
package sample

import (
	"hash/fnv"
	"os"
	"slices"
	"testing"
)

// Variable is the environment variable with the text that selects the part.
const Variable = "FETTLE_SAMPLE"

// Parts is the number of parts. One of them runs for a commit.
const Parts = 16

// Part returns the selected part, and the number of parts: 0 and 1 if everything runs.
func Part() (part, of int) {
	text := os.Getenv(Variable)
	if text == "" || os.Getenv("FETTLE_LONG") != "" {
		return 0, 1
	}
	return hash(text), Parts
}

// Has reports whether the i-th item of a list belongs to the selected part.
func Has(i int) bool {
	part, of := Part()
	return i%of == part
}

// Pick returns the items of a list that belong to the selected part.
func Pick[T any](all []T) []T {
	var out []T
	for i, item := range all {
		if Has(i) {
			out = append(out, item)
		}
	}
	return out
}

// Numbers returns the numbers below n that belong to the selected part.
func Numbers(n int) []int {
	var out []int
	for i := range n {
		if Has(i) {
			out = append(out, i)
		}
	}
	return out
}

// Group skips a test unless one of its groups, which are numbers below Parts, is the selected part. Tests that take
// longer than 20 seconds are divided into groups of similar duration. A test with more groups runs more often.
func Group(t testing.TB, groups ...int) {
	t.Helper()
	part, of := Part()
	if !slices.ContainsFunc(groups, func(group int) bool { return group%of == part }) {
		t.Skipf("group %v is not in the sample %s of this commit; make campaigns runs it, and so does go test without %s",
			groups, os.Getenv(Variable), Variable)
	}
}

// ByName skips a test unless the hash of its name selects it, as Group does. It is for short tests,
// whose groups need not be balanced.
func ByName(t testing.TB) {
	t.Helper()
	Group(t, hash(t.Name()))
}

// Half skips a test in every second part, according to the hash of its name.
func Half(t testing.TB) {
	t.Helper()
	first := hash(t.Name()) % 2
	var groups []int
	for i := first; i < Parts; i += 2 {
		groups = append(groups, i)
	}
	Group(t, groups...)
}

// Seed returns the seed of random histories, which the commit decides: a repetition plays the same ones. Without
// FETTLE_SAMPLE, or with FETTLE_LONG, it is 0, and the histories are new each time.
func Seed() uint64 {
	if _, of := Part(); of == 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(os.Getenv(Variable)))
	return h.Sum64()
}

// hash returns a number below Parts.
func hash(text string) int {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % Parts)
}
