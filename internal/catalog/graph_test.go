package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/catalog"
)

func Example() {
	g := catalog.NewGraph(3)
	g.Add(catalog.Arc{From: 2, To: 0})
	fmt.Println(g.Settle(), g.Order(catalog.Rank{}))
	// Output: [] [1 2 0]
}

// Whatever the arcs: the weak ones never make a cycle, hard ones are never
// dropped, and the order keeps every arc that is left.
func TestOrderKeepsArcs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		g := catalog.NewGraph(n)
		hard := 0
		for range rapid.IntRange(0, 40).Draw(t, "arcs") {
			a := catalog.Arc{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")}
			a.Strength = catalog.Strength(rapid.IntRange(0, 3).Draw(t, "strength"))
			if a.Strength == catalog.Hard && a.From > a.To {
				a.From, a.To = a.To, a.From // so that hard arcs alone have no circle
			}
			if a.Strength == catalog.Hard && a.From == a.To {
				continue
			}
			if a.Strength == catalog.Hard {
				hard++
			}
			g.Add(a)
		}
		if c := g.Settle(); c != nil {
			t.Fatalf("cycle %v without hard arcs that make one", c)
		}
		order := g.Order(catalog.Rank{Together: func(i int) bool { return i%3 == 0 },
			Free: func(i int) bool { return i%5 == 4 }})
		if len(order) != n {
			t.Fatalf("%d of %d nodes in %v", len(order), n, order)
		}
		for i := range n {
			for _, a := range g.Out(i) {
				if a.Strength == catalog.Hard {
					hard--
				}
				if slices.Index(order, a.From) >= slices.Index(order, a.To) {
					t.Fatalf("arc %v in order %v", a, order)
				}
			}
		}
		if hard != 0 {
			t.Fatalf("%d hard arcs are gone", hard)
		}
	})
}

// A cycle that is reported is one: each arc begins where the one before ended.
func TestCycleIsACycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		g := catalog.NewGraph(n)
		for range rapid.IntRange(0, 20).Draw(t, "arcs") {
			g.Add(catalog.Arc{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")})
		}
		c := g.Settle()
		if c == nil {
			if len(g.Order(catalog.Rank{})) != n {
				t.Fatal("a cycle is missed")
			}
			return
		}
		for i, a := range c {
			if next := c[(i+1)%len(c)]; a.To != next.From {
				t.Fatalf("%v is broken", c)
			}
		}
	})
}

// A long chain needs no deep stack.
func TestLongCycle(t *testing.T) {
	const n = catalog.MaxStates
	g := catalog.NewGraph(n)
	for i := range n {
		g.Add(catalog.Arc{From: i, To: (i + 1) % n})
	}
	if c := g.Settle(); len(c) != n {
		t.Fatalf("%d hops", len(c))
	}
}
