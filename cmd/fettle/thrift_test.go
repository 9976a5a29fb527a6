package main

import "testing"

// A hub that begins to work gets more memory at once, and one that rests gives it back after
// a while, once.
func TestThrift(t *testing.T) {
	var h thrift
	var gcs uint64
	look := func(n uint64, want int) {
		t.Helper()
		gcs += n
		if got := h.look(gcs); got != want {
			t.Errorf("after %d collections: %d, not %d", n, got, want)
		}
	}
	look(1, 0)
	look(5, workPercent)
	look(9, 0)
	for range calmLooks - 1 {
		look(1, 0)
	}
	look(4, 0)
	for range calmLooks - 1 {
		look(0, 0)
	}
	look(1, restPercent)
	look(2, 0)
	look(3, workPercent)
}
