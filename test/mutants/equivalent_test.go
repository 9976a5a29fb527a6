package main

import (
	"path/filepath"
	"testing"
)

// TestEquivalentsExist: each line of equivalent.txt names a mutant of the present source. If code moves
// or changes, its lines must follow, and their reasons must be checked again.
func TestEquivalentsExist(t *testing.T) {
	known, err := readEquivalents("equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, directory := range known.directories() {
		target, err := load(root, directory)
		if err != nil {
			t.Fatal(err)
		}
		all, err := target.mutants()
		if err != nil {
			t.Fatal(err)
		}
		if err := known.stale(directory, all); err != nil {
			t.Errorf("equivalent.txt: %v", err)
		}
	}
}
