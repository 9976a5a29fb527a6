package largefleet

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"fettle.dev/fettle/test/sample"
)

// minReadyTime is the minimum time of the strategies.
const minReadyTime = 10 * time.Second

// size returns the number of targets.
func size(t *testing.T) int {
	text := os.Getenv("FETTLE_TARGETS")
	if text == "" && os.Getenv("FETTLE_LONG") != "" {
		return 10_000
	} else if text == "" {
		return 150
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// scenario is a story of a large fleet.
type scenario struct {
	name string
	tell func(f *simFleet)
}

// TestLargeFleets plays scenarios with real leaders of hubs and many simple agents in virtual time.
func TestLargeFleets(t *testing.T) {
	n := size(t)
	for _, s := range sample.Pick(slices.Concat(commits, hubFailures, restored)) {
		t.Run(s.name, func(t *testing.T) {
			began, cpu := time.Now(), cpuTime()
			inFleet(t, n, func(f *simFleet) {
				s.tell(f)
				t.Logf("%d targets: %s of virtual time, %d computations", n, time.Since(f.began), f.cost.steps)
			})
			t.Logf("%s, CPU time %s", time.Since(began), cpuTime()-cpu)
		})
	}
}
