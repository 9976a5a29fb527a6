package compile_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// waves is a strategy with a value for each attribute.
const waves = `
rollout "careful-web" {
  wave "canary" {
    targets         = ["canary*"]
    size            = 1
    max_unavailable = 2
    bake            = "10m"
  }
  wave "site" {
    labels = { site = ["a", "b"] }
    size   = "10%"
  }
  wave "both" {
    targets = ["web*"]
    labels  = { site = "*" }
  }
  wave "rest" { max_unavailable = "10%" }
  max_failed        = 3
  max_silent        = "5%"
  min_ready         = "90%"
  min_coverage      = "60%"
  min_ready_time    = "20s"
  progress_deadline = "20m"
  silent_after      = "6m"
  wave_timeout      = "2d"
  on_breach         = "pause"
}
`

// members has targets for the waves.
const members = `
target "web2" { labels = { site = "c" } }
target "web1" { labels = { site = "b" } }
target "canary1" {}
`

func strategiesOf(t *testing.T, text string) []query.Strategy {
	t.Helper()
	list, ds := compile.Strategies(repo.MapTree(map[string]string{"fettle.hcl": text}))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return list
}

func TestStrategiesHaveTheirTargets(t *testing.T) {
	got := strategiesOf(t, waves+members+"rollout \"all\" {\n  wave \"all\" {}\n}\n")
	want := []query.Strategy{
		{Name: "careful-web", MaxFailed: "3", MaxSilent: "5%", MinReady: "90%", MinCoverage: "60%", MinReadyTime: 20,
			ProgressDeadline: 1200, SilentAfter: 360, WaveTimeout: 48 * 3600, OnBreach: "pause", Waves: []query.StrategyWave{
				{Name: "canary", Selected: []string{"canary1"}, Size: "1", MaxUnavailable: "2", Bake: 600},
				{Name: "site", Selected: []string{"web1"}, Size: "10%", MaxUnavailable: "25%"},
				{Name: "both", Selected: []string{"web1", "web2"}, MaxUnavailable: "25%"},
				{Name: "rest", All: true, MaxUnavailable: "10%"}}},
		{Name: "all", MaxFailed: "0", MaxSilent: "2%", MinReady: "95%", MinCoverage: "50%", MinReadyTime: 10,
			ProgressDeadline: 900, SilentAfter: 300, WaveTimeout: 24 * 3600, OnBreach: "rollback",
			Waves: []query.StrategyWave{{Name: "all", All: true, MaxUnavailable: "25%"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

// TestPolicyNamesTheStrategy: the highest level counts, and a level without the attribute changes nothing.
func TestPolicyNamesTheStrategy(t *testing.T) {
	targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": waves + `
policy { rollout = "careful" }
target_group "web" {
  targets = ["web*"]
  policy { rollout = "careful-web" }
}
target "db" {
  policy { drift = "report" }
}
target "web1" {}
target "web2" {
  policy { rollout = "at-once" }
}
`}))
	got := map[string]string{}
	for _, x := range targets {
		got[x.Name] = x.Strategy
	}
	if want := map[string]string{"db": "careful", "web1": "careful-web", "web2": "at-once"}; len(ds) > 0 ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v: %v", got, want, ds)
	}
}

// TestTargetsWithoutStrategy: without a policy the default counts, also for the local target.
func TestTargetsWithoutStrategy(t *testing.T) {
	for text, want := range map[string]string{
		`target "a" {}`: "careful", `policy { drift = "report" }`: "careful", `policy { rollout = "at-once" }`: "at-once",
	} {
		targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": text}))
		if len(ds) > 0 || len(targets) != 1 || targets[0].Strategy != want {
			t.Errorf("%s: %+v, %v", text, targets, ds)
		}
	}
}

// TestPolicyWithUnknownStrategy: the targets have an error, so a hub keeps its last revision.
func TestPolicyWithUnknownStrategy(t *testing.T) {
	for _, text := range []string{
		waves + `policy { rollout = "careful-wep" }`,
		waves + "target \"a\" {\n  policy { rollout = \"careful-wep\" }\n}\n",
		waves + "target \"a\" {}\ntarget_group \"g\" {\n  targets = [\"*\"]\n  policy { rollout = \"careful-wep\" }\n}\n",
	} {
		targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": text}))
		if err := ds.Err(); err == nil || targets != nil || !strings.Contains(err.Error(), `Did you mean "careful-web"?`) {
			t.Errorf("%s: %+v, %v", text, targets, err)
		}
	}
}

// TestStrategySelectsEnrolledTargets: a wave selects by the labels of the enrolment, and its names are sorted.
func TestStrategySelectsEnrolledTargets(t *testing.T) {
	list, ds := compile.Strategies(repo.MapTree(map[string]string{
		"fettle.hcl": `target "z" { labels = { role = "web" } }
rollout "r" {
  wave "a" { labels = { role = "web" } }
  wave "b" { targets = [] }
}
`,
		"enrolled.fettle.json": `{"enrolled": {"b": {"labels": {"role": "db"}}, "a": {"labels": {"role": "web"}}}}`,
	}))
	if len(ds) > 0 || len(list) != 1 || len(list[0].Waves) != 2 {
		t.Fatalf("%+v, %v", list, ds)
	}
	if w := list[0].Waves; !slices.Equal(w[0].Selected, []string{"a", "z"}) || len(w[1].Selected) > 0 || w[1].All {
		t.Errorf("%+v", w)
	}
}

// TestStrategiesWithoutTargets: the local target has no labels.
func TestStrategiesWithoutTargets(t *testing.T) {
	list := strategiesOf(t, `
rollout "r" {
  wave "a" { targets = ["l*"] }
  wave "b" { labels = { x = "*" } }
}
`)
	if w := list[0].Waves; !slices.Equal(w[0].Selected, []string{"local"}) || len(w[1].Selected) > 0 {
		t.Errorf("%+v", w)
	}
}
