package compile_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
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
    compare "latency" {
      url        = "https://prometheus.example.org:9090"
      query      = "latency"
      label      = "host"
      worse      = "lower"
      min_sample = 7
      max_ratio  = 1.5
      margin     = 2
    }
  }
  wave "site" {
    labels = { site = ["a", "b"] }
    size   = "10%"
  }
  wave "both" {
    targets = ["web*"]
    labels  = { site = "*" }
  }
  wave "rest" {
    max_unavailable = "10%"
    approval "change board" {
      need       = 2
      users      = ["ann", "bob"]
      not_author = true
      expires    = "2h"
      timeout    = "4h"
    }
    metric "errors" {
      url           = "https://prometheus.example.org:9090"
      token         = "prometheus"
      query         = "sum(rate(errors[5m]))"
      min           = -1
      max           = 0.5
      initial_delay = "2m"
      interval      = "20s"
      count         = 3
      failure_limit = 1
      error_limit   = 2
      dry_run       = true
    }
    webhook "tests" {
      url  = "https://ci.example.org/start"
      sign = "ci"
    }
    webhook "pipeline" {}
  }
  max_failed        = 3
  max_silent        = "5%"
  min_ready         = "90%"
  min_coverage      = "60%"
  min_ready_time    = "20s"
  progress_deadline = "20m"
  silent_after      = "6m"
  wave_timeout      = "2d"
  on_breach         = "pause"
  spread            = { label = "rack", max = 2 }
  rate              = 30
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

// allGates returns the gates of waves.
func allGates() []source.Gate {
	least, most := -1.0, 0.5
	return []source.Gate{
		{Name: "change board", Type: "approval", Need: 2, Users: []string{"ann", "bob"}, NotAuthor: true, Expires: 7200,
			Timeout: 14400},
		{Name: "errors", Type: "metric", DryRun: true, URL: "https://prometheus.example.org:9090", Token: "prometheus",
			Query: "sum(rate(errors[5m]))", Min: &least, Max: &most, InitialDelay: 120, Interval: 20, Count: 3,
			FailureLimit: 1, ErrorLimit: 2},
		{Name: "tests", Type: "webhook", URL: "https://ci.example.org/start", Sign: "ci", Interval: 30, Count: 1,
			ErrorLimit: 4},
		{Name: "pipeline", Type: "webhook", Interval: 30, Count: 1, ErrorLimit: 4}}
}

func comparison() source.Gate {
	ratio, margin := 1.5, 2.0
	return source.Gate{Name: "latency", Type: "compare", URL: "https://prometheus.example.org:9090", Query: "latency",
		Label: "host", Worse: "lower", MinSample: 7, MaxRatio: &ratio, Margin: &margin, Interval: 60, Count: 1, ErrorLimit: 4}
}

// TestWrongGates: an error names the line, and suggests a name.
func TestWrongGates(t *testing.T) {
	for text, want := range map[string]string{
		`approval "a" { ned = 2 }`:  `no attribute "ned". Did you mean "need"?`,
		`aproval "a" {}`:            `no block "aproval". Did you mean "approval"?`,
		`approval "a" { need = 0 }`: "need must be a whole number from 1 to 1000",

		"approval \"a\" {\n need = 2\n users = [\"ann\"]\n}":                   "2 users must approve, and users names 1",
		"approval \"a\" {}\n metric \"a\" {}":                                  `already a gate "a"`,
		`metric "a" { url = "http://x" }`:                                      "must have url and query",
		"metric \"a\" {\n url = \"http://x\"\n query = \"up\"\n}":              "must have min, max or both",
		`webhook "a" { url = "https://ann:secret@x" }`:                         "without a password",
		`webhook "a" { url = "ftp://x" }`:                                      "must have a url such as",
		`webhook "a" { interval = "0s" }`:                                      "interval must be longer than 0s",
		"approval \"a\" {\n groups = [\"dba\", \"dba\"]\n}":                    "groups must contain each name once",
		"approval \"a\" {\n groups = \"dba\"\n}":                               "groups must be a list of names",
		`approval "a" { timeout = "0s" }`:                                      "timeout must be longer than 0s",
		`webhook "a" { sign = "ci" }`:                                          "has nothing to sign",
		"approval \"a\" {\n users = []\n}":                                     "users must be a list of names",
		"metric \"a\" {\n url = \"http://x\"\n query = \"up\"\n max = true\n}": `max must be a number`,
	} {
		_, ds := compile.Strategies(repo.MapTree(map[string]string{
			"fettle.hcl": "rollout \"r\" {\n  wave \"w\" {\n    " + text + "\n  }\n}\n"}))
		if err := ds.Err(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "fettle.hcl:") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestStrategiesHaveTheirTargets(t *testing.T) {
	got := strategiesOf(t, waves+members+"rollout \"all\" {\n  wave \"all\" {}\n}\n")
	want := []query.Strategy{
		{Name: "careful-web", MaxFailed: "3", MaxSilent: "5%", MinReady: "90%", MinCoverage: "60%", MinReadyTime: 20,
			ProgressDeadline: 1200, SilentAfter: 360, WaveTimeout: 48 * 3600, OnBreach: "pause",
			SpreadLabel: "rack", SpreadMax: 2, Rate: 30, Waves: []query.StrategyWave{
				{Name: "canary", Selected: []string{"canary1"}, Size: "1", MaxUnavailable: "2", Bake: 600,
					Gates: []source.Gate{comparison()}},
				{Name: "site", Selected: []string{"web1"}, Size: "10%", MaxUnavailable: "25%"},
				{Name: "both", Selected: []string{"web1", "web2"}, MaxUnavailable: "25%"},
				{Name: "rest", All: true, MaxUnavailable: "10%", Gates: allGates()}}},
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
