package main

import "testing"

// A hub that begins to work gets more memory at once. A hub at rest returns it after a while:
// several times, and then rarely.
func TestGCPolicy(t *testing.T) {
	var h gcPolicy
	var gcs uint64
	look := func(n uint64, want int, give bool) {
		t.Helper()
		gcs += n
		if got, gives := h.look(measures{gcs: gcs}); got != want || gives != give {
			t.Errorf("after %d collections: %d and %v, not %d and %v", n, got, gives, want, give)
		}
	}
	over := func(n uint64, want int, give bool) { // a whole span
		t.Helper()
		for range span - 1 {
			look(0, 0, false)
		}
		look(n, want, give)
	}
	over(workGCs-1, 0, false)
	look(1, 0, false)
	look(workGCs-1, workPercent, false)
	over(stillGCs, 0, false)
	for range calmSpans - 1 {
		over(stillGCs-1, 0, false)
	}
	over(stillGCs, 0, false)
	for range calmSpans - 1 {
		over(0, 0, false)
	}
	over(1, restPercent, true)
	for range giveTimes - 1 {
		over(1, 0, true)
	}
	for range 2 {
		for range giveEvery - giveTimes {
			over(0, 0, false)
		}
		over(2, 0, true)
		for range giveTimes - 1 {
			over(2, 0, false)
		}
	}
	look(workGCs, workPercent, false)
}

// A hub with much memory in use is recognized as busy by its allocations, although it rarely
// collects.
func TestGCPolicyOfLargeHeaps(t *testing.T) {
	for used, percent := range map[uint64]int{10 << 20: workPercent, 4 << 30: largePercent} {
		much := max(workBytes, used/workPart)
		m := measures{used: used}
		var h gcPolicy
		over := func(n uint64, want int) {
			t.Helper()
			for range span - 1 {
				h.look(m)
			}
			m.allocated += n
			if got, _ := h.look(m); got != want {
				t.Errorf("after %d bytes with %d in use: %d, not %d", n, used, got, want)
			}
		}
		over(much-1, 0)
		over(much, percent)
		for range calmSpans {
			over(much/2, 0)
		}
		for range calmSpans - 1 {
			over(much/2-1, 0)
		}
		over(0, restPercent)
	}
}

// The limit of a busy hub follows the memory in use.
func TestGCPolicyGrows(t *testing.T) {
	var h gcPolicy
	m := measures{used: large - 1}
	for i, c := range []struct {
		used uint64
		want int
	}{{large - 1, workPercent}, {large - 1, 0}, {large, largePercent}, {large, 0}, {large - 1, workPercent}} {
		m.gcs, m.used = m.gcs+workGCs, c.used
		if got, _ := h.look(m); got != c.want {
			t.Errorf("at %d: %d, not %d", i, got, c.want)
		}
	}
}
