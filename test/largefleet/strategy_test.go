package largefleet

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/lang/query"
)

// careful selects the built-in strategy: one target, a tenth, and the rest by quarters.
func careful(f *simFleet) {
	f.selectStrategy("careful")
	f.judge.stops = true
	f.judge.carefully(0, f.judge.n)
}

func quarter(n int) int { return max(1, n/4) }

// declare declares and selects a strategy that differs from the built-in one in its waves.
func declare(f *simFleet, name string, waves ...query.StrategyWave) {
	f.strategies = []query.Strategy{{Name: name, Waves: waves, MaxFailed: "0", MaxSilent: "2%", MinReady: "95%",
		MinCoverage: "50%", MinReadyTime: int64(minReadyTime / time.Second), ProgressDeadline: 900, SilentAfter: 300,
		WaveTimeout: 86400, OnBreach: "rollback"}}
	f.selectStrategy(name)
	f.judge.stops = true
}

// baked selects a strategy whose first wave, a hundredth of the targets, must be ready for 15 minutes.
func baked(f *simFleet) {
	declare(f, "baked", query.StrategyWave{Name: "canary", All: true, Size: "1%", MaxUnavailable: "100%", Bake: 900},
		query.StrategyWave{Name: "rest", All: true, MaxUnavailable: "25%"})
	n, first := f.judge.n, f.judge.n/100
	f.judge.waves = []wave{{first, first, 15 * time.Minute, first}, {n, quarter(n - first), minReadyTime, n}}
}

// byRelease selects a strategy with a wave for each release of the operating system.
func byRelease(f *simFleet) (trixie, bookworm int) {
	of := map[string][]string{}
	for _, a := range f.order {
		of[a.Labels["os"]] = append(of[a.Labels["os"]], a.Name)
	}
	for _, names := range of {
		slices.Sort(names)
	}
	declare(f, "releases", query.StrategyWave{Name: "trixie", Selected: of["trixie"], MaxUnavailable: "25%"},
		query.StrategyWave{Name: "bookworm", Selected: of["bookworm"], MaxUnavailable: "25%"})
	trixie, bookworm = len(of["trixie"]), len(of["bookworm"])
	n := f.judge.n
	f.judge.waves = []wave{{trixie, quarter(trixie), minReadyTime, trixie}, {n, quarter(bookworm), minReadyTime, n}}
	return trixie, bookworm
}
