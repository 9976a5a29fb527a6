package balance_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/balance"
)

func Example() {
	fmt.Println(balance.Moves("hub1", map[string]int{"hub1": 900, "hub2": 100, "hub3": 50}, false))
	fmt.Println(balance.Moves("hub3", map[string]int{"hub1": 900, "hub2": 100, "hub3": 50}, false))
	// Output:
	// map[hub2:20 hub3:25]
	// map[]
}

// TestMoves: small differences move nothing, and a hub that leaves moves all.
func TestMoves(t *testing.T) {
	for _, c := range []struct {
		agents map[string]int
		leaves bool
		want   string
	}{
		{map[string]int{"a": 100}, false, "map[]"},
		{map[string]int{"a": 100}, true, "map[]"},
		{map[string]int{"a": 5, "b": 0}, false, "map[]"},
		{map[string]int{"a": 8, "b": 0}, false, "map[]"},
		{map[string]int{"a": 9, "b": 0}, false, "map[]"},
		{map[string]int{"a": 11, "b": 0}, false, "map[]"},
		{map[string]int{"a": 12, "b": 0}, false, "map[b:3]"},
		{map[string]int{"a": 115, "b": 85}, false, "map[]"},
		{map[string]int{"a": 116, "b": 84}, false, "map[b:8]"},
		{map[string]int{"a": 1000, "b": 0}, false, "map[b:50]"},
		{map[string]int{"a": 1000, "b": 0, "c": 600}, false, "map[b:50]"},
		{map[string]int{"a": 1000, "b": 0, "c": 400}, false, "map[b:43 c:7]"},
		{map[string]int{"a": 84, "b": 116}, false, "map[]"},
		{map[string]int{"a": 3, "b": 116}, true, "map[b:3]"},
		{map[string]int{"a": 100, "b": 0, "c": 0}, true, "map[b:50 c:50]"},
		{map[string]int{"a": 500, "b": 0, "c": 0}, true, "map[b:62 c:63]"},
		{map[string]int{"a": 30, "b": 50, "c": 50}, true, "map[b:15 c:15]"},
		{map[string]int{"a": 0, "b": 50}, true, "map[]"},
	} {
		if got := fmt.Sprint(balance.Moves("a", c.agents, c.leaves)); got != c.want {
			t.Errorf("%v, leaves %v: %s, want %s", c.agents, c.leaves, got, c.want)
		}
	}
}

// TestFleetsBecomeEven plays random fleets: hubs decide with old numbers, some agents refuse to move, hubs stop and
// start, and one leaves. In bounded time the numbers are similar, and then nothing moves any more.
func TestFleetsBecomeEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newGenerated(t)
		for range 120 {
			f.round()
		}
		want := f.sum() / len(f.accepting())
		for _, name := range f.accepting() {
			if n := f.agents[name]; n > want+want/10+7 {
				t.Fatalf("%s has %d agents, the mean is %d: %v", name, n, want, f.agents)
			}
		}
		if f.leaves != "" && f.agents[f.leaves] != 0 {
			t.Fatalf("%s left with %d agents", f.leaves, f.agents[f.leaves])
		}
		before := f.moved
		for range 20 {
			f.round()
		}
		if f.moved != before {
			t.Fatalf("%d agents move although all hubs have similar numbers: %v", f.moved-before, f.agents)
		}
		if limit := 2*f.sum() + 20; f.moved > limit {
			t.Fatalf("%d moves of %d agents: %v", f.moved, f.sum(), f.agents)
		}
	})
}

// generated is a random fleet. seen are the numbers of the last round but one: hubs know them late.
type generated struct {
	agents, seen map[string]int
	leaves       string
	refuses      int // percent of the orders that agents refuse
	random       *rand.Rand
	moved        int
}

func newGenerated(t *rapid.T) *generated {
	f := &generated{agents: map[string]int{}, refuses: rapid.IntRange(0, 60).Draw(t, "refuses"),
		random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
	hubs := rapid.IntRange(2, 7).Draw(t, "hubs")
	for i := range hubs {
		most := rapid.SampledFrom([]int{0, 3, 40, 5000, 30000}).Draw(t, "most")
		f.agents[fmt.Sprintf("hub%d", i+1)] = rapid.IntRange(0, most).Draw(t, "agents")
	}
	if hubs > 2 && rapid.Bool().Draw(t, "one leaves") {
		f.leaves = "hub2"
	}
	f.seen = maps.Clone(f.agents)
	return f
}

func (f *generated) accepting() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.agents)), func(n string) bool { return n == f.leaves })
}

func (f *generated) sum() (n int) {
	for _, k := range f.agents {
		n += k
	}
	return n
}

// round lets each hub decide once.
func (f *generated) round() {
	seen := f.seen
	f.seen = maps.Clone(f.agents)
	for _, hub := range slices.Sorted(maps.Keys(f.agents)) {
		known := map[string]int{hub: f.agents[hub]}
		for _, name := range f.accepting() {
			if name != hub {
				known[name] = seen[name]
			}
		}
		moves := balance.Moves(hub, known, hub == f.leaves)
		for _, to := range slices.Sorted(maps.Keys(moves)) {
			for range moves[to] {
				if f.random.IntN(100) >= f.refuses || hub == f.leaves {
					f.agents[hub]--
					f.agents[to]++
					f.moved++
				}
			}
		}
	}
}
