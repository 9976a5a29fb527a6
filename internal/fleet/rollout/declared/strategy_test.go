package declared_test

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/rollout/declared"
	"fettle.dev/fettle/internal/lang/query"
)

// TestNamed: a strategy of the repository has all its values.
func TestNamed(t *testing.T) {
	all := []query.Strategy{{Name: "other"}, {Name: "web", MaxFailed: "1",
		MaxSilent: "2%", MinReady: "95%", MinCoverage: "50%", MinReadyTime: 1, ProgressDeadline: 2, SilentAfter: 3,
		WaveTimeout: 4, OnBreach: "abort", SpreadLabel: "rack", SpreadMax: 2, Rate: 5, Waves: []query.StrategyWave{
			{Name: "canary", Selected: []string{"web1"}, Size: "1", MaxUnavailable: "10%", Bake: 5},
			{Name: "rest", All: true, MaxUnavailable: "25%"}}}}
	percent := func(n int) rollout.Amount { return rollout.Amount{Number: n, Percent: true} }
	want := rollout.Strategy{Name: "web", MaxFailed: rollout.Amount{Number: 1}, MaxSilent: percent(2),
		MinReady: percent(95), MinCoverage: percent(50), MinReadyTime: 1, ProgressDeadline: 2, SilentAfter: 3,
		WaveTimeout: 4, OnBreach: rollout.Abort, Spread: &rollout.Spread{Label: "rack", Max: 2}, Rate: 5,
		Waves: []rollout.WaveRule{
			{Name: "canary", Selected: map[fleet.TargetID]bool{"t1": true}, Size: rollout.Amount{Number: 1},
				MaxUnavailable: percent(10), Bake: 5},
			{Name: "rest", MaxUnavailable: percent(25)}}}
	names := map[string]fleet.TargetID{"web1": "t1", "web2": "t2"}
	if got, ok := declared.Named(all, "web", names); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, ok := declared.Named(all, "careful", names); !ok || !reflect.DeepEqual(got, rollout.Careful()) {
		t.Errorf("%+v", got)
	}
	if got, ok := declared.Named(all, "gone", names); ok {
		t.Errorf("%+v", got)
	}
}
