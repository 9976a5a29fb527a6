package rollout_test

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/rollout"
)

func Example() {
	w := rollout.World{Targets: map[rollout.ID]rollout.Target{},
		Has:      func(rollout.ID, string) string { return "old" },
		Strategy: func(string, []rollout.Change) rollout.Strategy { return rollout.Careful() },
		Cause:    func(string, []rollout.Change) string { return "commit 3f2a by jane" }}
	change := rollout.Change{Part: "modules/web", Digest: "new"}
	for _, id := range []rollout.ID{"a", "b", "c"} {
		w.Targets[id] = rollout.Target{Lane: "main", Wants: []rollout.Change{change}, Online: true}
	}
	s := rollout.NewState()
	for _, e := range s.Decide(w, 1000) {
		fmt.Printf("%s %q\n", e.Kind, e.Target)
	}
	fmt.Println(s.Allowed("b", "main", change))
	fmt.Println("at most", s.Rollouts["r1"].WorstCase(), "of 3 targets fail before the rollout stops")
	// Output:
	// created ""
	// granted "a"
	// false it is in the wave rest of the rollout r1, and the current wave is first (0 of 1 ready)
	// at most 1 of 3 targets fail before the rollout stops
}
