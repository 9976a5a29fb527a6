package compile_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// TestWrongQueries: an error of a gate that the hub queries names its line.
func TestWrongQueries(t *testing.T) {
	for text, want := range map[string]string{
		"metric: url=http://x query=up max=1 token=t":                         "use a url with https",
		"metric: url=http://127.0.0.1:9090 query=up max=1 token=t":            "",
		"metric: url=http://localhost query=up max=1 token=t":                 "",
		"metric: url=https://x query=up max=1 token=t":                        "",
		"compare: url=https://x query=up max_ratio=1.5":                       "",
		"compare: url=https://x query=up margin=0 worse=lower":                "",
		"compare: url=https://x query=up":                                     "must have max_ratio of at least 1, or margin",
		"compare: query=up max_ratio=2":                                       "must have url and query",
		"compare: url=https://x query=up max_ratio=0.5":                       "must have max_ratio of at least 1",
		"compare: url=https://x query=up margin=-1":                           "margin of at least 0",
		"compare: url=https://x query=up margin=1 worse=hiher":                `Did you mean "higher"?`,
		"compare: url=https://x query=up margin=1 min_sample=0":               "min_sample must be a whole number from 1",
		"compare: url=https://x query=up max=1":                               `no attribute "max"`,
		"webhook: token=t":                                                    `no attribute "token"`,
		"webhook: initial_delay=1h timeout=1h":                                "can never pass within its timeout",
		"webhook: initial_delay=1h timeout=2h":                                "",
		"metric: url=https://x query=up max=1 count=3 interval=1m timeout=2m": "can never pass within its timeout",
	} {
		gate, settings, _ := strings.Cut(text, ":")
		lines := gate + " \"a\" {\n"
		for _, a := range strings.Fields(settings) {
			name, value, _ := strings.Cut(a, "=")
			lines += name + " = \"" + value + "\"\n"
		}
		_, ds := compile.Strategies(repo.MapTree(map[string]string{
			"fettle.hcl": "rollout \"r\" {\n wave \"w\" {\n size = 1\n" + lines + "}\n}\n wave \"rest\" {}\n}\n"}))
		err := ds.Err()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "fettle.hcl:")) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestComparisonInTheLastWave: the last wave has no targets without the change.
func TestComparisonInTheLastWave(t *testing.T) {
	_, ds := compile.Strategies(repo.MapTree(map[string]string{"fettle.hcl": `rollout "r" {
  wave "first" { size = 1 }
  wave "rest" {
    compare "errors" {
      url       = "https://prometheus.example.org"
      query     = "errors"
      max_ratio = 2
    }
  }
}
`}))
	if err := ds.Err(); err == nil ||
		!strings.Contains(err.Error(), "fettle.hcl:4:13: error: Comparison without targets") {
		t.Error(err)
	}
}
