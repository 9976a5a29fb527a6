package limited

import (
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// TestPoolWaits: a used compiler is preferred, even if it is not free at once. A new one starts
// only after a long wait, and each at most once.
func TestPoolWaits(t *testing.T) {
	first, tree := New(t.Context(), "compile"), repo.MapTree(nil)
	p := NewPoolWith(t.Context(), "compile", 3, first)
	if got := p.take(tree); got != first {
		t.Fatal("the one that is asked by itself as well is not the first")
	}
	given := make(chan *Compiler)
	go func() { given <- p.take(tree) }()
	p.free <- first
	if got := <-given; got != first {
		t.Error("another one is begun where the first is free soon")
	}
	seen := map[*Compiler]bool{first: true}
	for range 2 {
		seen[p.take(tree)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d compilers work where all are needed", len(seen))
	}
	p.free <- first
	if got := p.take(tree); got != first {
		t.Error("nobody waits for the one that is free again")
	}
	if c := NewPool(t.Context(), "compile", 0).take(tree); c == nil {
		t.Error("a pool of none has none")
	}
}
