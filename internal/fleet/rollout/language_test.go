package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/repo"
)

// TestLanguageHasTheDefaultsOfCareful: a rollout block without an attribute tolerates as much as the
// built-in strategy.
func TestLanguageHasTheDefaultsOfCareful(t *testing.T) {
	list, ds := compile.Strategies(repo.MapTree(map[string]string{
		"fettle.hcl": "rollout \"r\" {\n  wave \"a\" {}\n}\n"}))
	if len(ds) > 0 || len(list) != 1 {
		t.Fatalf("%+v, %v", list, ds)
	}
	got, want := list[0], rollout.Careful()
	last := want.Waves[len(want.Waves)-1]
	for name, pair := range map[string][2]any{
		"max_failed": {got.MaxFailed, want.MaxFailed.String()}, "max_silent": {got.MaxSilent, want.MaxSilent.String()},
		"min_ready": {got.MinReady, want.MinReady.String()}, "min_coverage": {got.MinCoverage, want.MinCoverage.String()},
		"min_ready_time":    {got.MinReadyTime, want.MinReadyTime},
		"progress_deadline": {got.ProgressDeadline, want.ProgressDeadline},
		"silent_after":      {got.SilentAfter, want.SilentAfter}, "wave_timeout": {got.WaveTimeout, want.WaveTimeout},
		"on_breach":       {got.OnBreach, string(want.OnBreach)},
		"max_unavailable": {got.Waves[0].MaxUnavailable, last.MaxUnavailable.String()},
		"bake":            {got.Waves[0].Bake, last.Bake},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}

// TestLanguageKnowsTheBuiltinStrategies: policies can name them.
func TestLanguageKnowsTheBuiltinStrategies(t *testing.T) {
	for _, s := range []rollout.Strategy{rollout.Careful(), rollout.AtOnce()} {
		targets, ds := compile.Targets(repo.MapTree(map[string]string{
			"fettle.hcl": "policy { rollout = \"" + s.Name + "\" }\ntarget \"a\" {}\n"}))
		if len(ds) > 0 || targets[0].Strategy != s.Name {
			t.Errorf("%s: %+v, %v", s.Name, targets, ds)
		}
	}
}
