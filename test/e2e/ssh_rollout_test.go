package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// rollOut performs rollouts over SSH on five hosts that have the text two. A bad one stops at the first host, which
// gets its previous state, and a good one reaches all.
func (d *desk) rollOut(ms []*machine) {
	d.t.Helper()
	o := d.fettle(failed, "apply", "-t", "*", "--yes", "--rollout", "careful", "--var", "text=bad")
	d.says(o, "wave first: 1 target", "1 of 5 failed, and at most 0 may fail; changed targets are rolled back",
		fmt.Sprintf("Applied %d targets: %d skipped, 1 failed", len(ms), len(ms)-1), "It was rolled back.")
	for _, m := range ms {
		m.want("two", "cat", "/srv/site/index.html")
	}
	good := []string{"apply", "-t", "*", "--yes", "--rollout", "careful", "--var", "text=good"}
	p := d.begin(good...)
	begun := func() bool { return strings.Contains(p.out.String(), ": applying") }
	for end := time.Now().Add(time.Minute); !begun(); time.Sleep(20 * time.Millisecond) {
		if p.over() || time.Now().After(end) {
			d.t.Fatalf("no target is applying:\n%s", p.out)
		}
	}
	_ = p.Process.Signal(os.Interrupt)
	if code := d.end(p); code != failed {
		d.t.Errorf("the interrupted rollout ended with %d", code)
	}
	d.says(output{err: p.out.String()}, "Continue: run the same command again")
	o = d.fettle(0, good...)
	d.says(o, "wave rest: ", "completed", fmt.Sprintf("Applied %d targets: %d changed", len(ms), len(ms)))
	for _, m := range ms {
		m.want("good", "cat", "/srv/site/index.html")
	}
}
