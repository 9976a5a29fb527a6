package child

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/lang/query"
)

// Strategies from a child are accepted only if their values are valid.
func TestStrategiesAreChecked(t *testing.T) {
	read := func(list ...query.Strategy) ([]query.Strategy, error) {
		w := &writer{}
		writeDocument(w, list)
		r := &reader{b: w.b}
		return readStrategies(r), r.end()
	}
	good := func(change func(s *query.Strategy)) query.Strategy {
		s := query.Strategy{Name: "r", MaxFailed: "0", MaxSilent: "2%", MinReady: "95%", MinCoverage: "50%", MinReadyTime: 10,
			ProgressDeadline: 900, SilentAfter: 300, WaveTimeout: 3600, OnBreach: "pause", Waves: []query.StrategyWave{
				{Name: "a", Selected: []string{"web1", "web2"}, Size: "1", MaxUnavailable: "25%", Bake: 60},
				{Name: "b", All: true, MaxUnavailable: "1"}}}
		if change != nil {
			change(&s)
		}
		return s
	}
	if got, err := read(good(nil)); err != nil || !reflect.DeepEqual(got, []query.Strategy{good(nil)}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := read(good(nil), good(nil)); err == nil || got != nil {
		t.Errorf("the same twice: %+v, %v", got, err)
	}
	for name, change := range map[string]func(s *query.Strategy){
		"name": func(s *query.Strategy) { s.Name = "" }, "no wave": func(s *query.Strategy) { s.Waves = nil },
		"amount": func(s *query.Strategy) { s.MaxSilent = "" }, "size": func(s *query.Strategy) { s.Waves[0].Size = "x" },
		"time":  func(s *query.Strategy) { s.WaveTimeout = -1 },
		"after": func(s *query.Strategy) { s.Afters = []query.StrategyAfter{{Module: "modules/db", Ready: "1"}} },
		"ready": func(s *query.Strategy) {
			s.Afters = []query.StrategyAfter{{Module: "modules/db", Modules: []string{"modules/web"}, Ready: "x"}}
		},
		"spread":   func(s *query.Strategy) { s.SpreadLabel = "rack" },
		"rate":     func(s *query.Strategy) { s.Rate = -1 },
		"bake":     func(s *query.Strategy) { s.Waves[1].Bake = -1 },
		"breach":   func(s *query.Strategy) { s.OnBreach = "" },
		"twice":    func(s *query.Strategy) { s.Waves[1].Name = "a" },
		"unnamed":  func(s *query.Strategy) { s.Waves[1].Name = "" },
		"unsorted": func(s *query.Strategy) { s.Waves[0].Selected = []string{"b", "a"} },
		"all":      func(s *query.Strategy) { s.Waves[0].All = true },
	} {
		if got, err := read(good(change)); err == nil || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
