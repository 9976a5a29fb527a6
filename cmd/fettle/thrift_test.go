package main

import "testing"

// A hub that begins to work gets more memory at once, and one that rests gives it back after
// a while: some times, and then seldom.
func TestThrift(t *testing.T) {
	var h thrift
	var gcs uint64
	look := func(n uint64, want int, give bool) {
		t.Helper()
		gcs += n
		if got, gives := h.look(gcs); got != want || gives != give {
			t.Errorf("after %d collections: %d and %v, not %d and %v", n, got, gives, want, give)
		}
	}
	look(5, 0, false)
	look(6, workPercent, false)
	look(9, 0, false)
	for range calmLooks - 1 {
		look(1, 0, false)
	}
	look(2, 0, false)
	for range calmLooks - 1 {
		look(0, 0, false)
	}
	look(1, restPercent, true)
	for range giveTimes - 1 {
		look(1, 0, true)
	}
	for range 2 {
		for range giveEvery - giveTimes {
			look(0, 0, false)
		}
		look(2, 0, true)
		for range giveTimes - 1 {
			look(2, 0, false)
		}
	}
	look(6, workPercent, false)
}
