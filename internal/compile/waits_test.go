package compile_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

const threeTargets = `
target "db1" {
  labels = { role = "db" }
}
target "db2" {
  labels = { role = "db" }
}
target "web1" {}
`

func TestWaits(t *testing.T) {
	got, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": threeTargets + `
barrier "all" {
  targets = ["*"]
}
barrier "schema-2" {
  labels        = { role = "db" }
  quorum        = "80%"
  offline_after = "10m"
}
barrier "one" {
  targets = ["x"]
  quorum  = 1
}
signal "schema" {}
signal "start" {
  keep    = "1h"
  targets = ["web*"]
}
`}))
	want := query.Coordination{
		Barriers: []query.Barrier{{Name: "all", Members: []string{"db1", "db2", "web1"}, Quorum: "all"},
			{Name: "schema-2", Members: []string{"db1", "db2"}, Quorum: "80%", OfflineAfter: 600},
			{Name: "one", Quorum: "1"}},
		Signals: []query.Signal{{Name: "schema", Keep: 86400}, {Name: "start", Senders: []string{"web1"}, Keep: 3600}},
	}
	if ds.HasErrors() || !reflect.DeepEqual(got, want) || got.Valid() != nil {
		t.Errorf("%+v, %v, %v", got, ds, got.Valid())
	}
}

func TestWaitErrors(t *testing.T) {
	many := ""
	for i := range source.MaxBarriers + 1 {
		many += fmt.Sprintf("signal \"s%d\" {}\n", i)
	}
	for text, want := range map[string]string{
		"barrier \"a\" {}": "1:9: Barrier without members",
		"barrier \"a\" {\n  targets = [\"x\"]\n}\nbarrier \"a\" {\n  targets = [\"x\"]\n}": "4:9: Block declared twice",
		"signal \"a\" {}\nsignal \"a\" {}":                                                 "2:8: Block declared twice",
		`signal "a.b" {}`:                                                                  "1:8: Bad name for a signal",
		"barrier \"a\" {\n  targets = [\"x\"]\n  quorum = \"al\"\n}":                       `3:12: Bad quorum`,
		"barrier \"a\" {\n  targets = [\"x\"]\n  quorum = 0\n}":                            "3:12: Bad quorum",
		"barrier \"a\" {\n  targets = [\"x\"]\n  quorum = 1001\n}":                         "3:12: Bad quorum",
		"barrier \"a\" {\n  targets = [\"x\"]\n  quorum = \"101%\"\n}":                     "3:12: Bad quorum",
		"barrier \"a\" {\n  targets = [\"x\"]\n  quorum = [1]\n}":                          "3:12: Wrong type",
		"barrier \"a\" {\n  targets = [\"x\"]\n  offline_after = \"5s\"\n}":                "3:19: Invalid duration",
		"barrier \"a\" {\n  targets = [\"x\"]\n  offline = \"5m\"\n}":                      "3:3: Unknown attribute",
		"barrier \"a\" {\n  labels = [\"x\"]\n}":                                           "2:12: Bad label selector",
		"signal \"a\" {\n  keep = \"31d\"\n}":                                              "2:10: Invalid duration",
		"signal \"a\" {\n  keep = \"0s\"\n}":                                               "2:10: Invalid duration",
		"signal \"a\" {\n  kep = \"1h\"\n}":                                                "2:3: Unknown attribute",
		"signal {}":                                                                        "1:1: Block needs one label",

		many: fmt.Sprintf("%d:8: Too many blocks", source.MaxBarriers+1),
	} {
		got, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": text}))
		if len(ds) == 0 || got.Barriers != nil || got.Signals != nil {
			t.Errorf("%.60s: %v, and no error", text, got)
			continue
		}
		at := fmt.Sprintf("%d:%d: %s", ds[0].Range.Start.Line, ds[0].Range.Start.Column, ds[0].Summary)
		if !strings.Contains(at, want) {
			t.Errorf("%.60s: %s, want %s", text, at, want)
		}
	}
	for _, kind := range []string{"barrier", "signal"} {
		_, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{
			"fettle.hcl": "target \"a\" {\n  module \"web\" {}\n}", "modules/web/main.hcl": kind + " \"a\" {}"})})
		if len(ds) == 0 || !strings.HasSuffix(ds[0].Summary, " inside a module") {
			t.Errorf("a %s inside a module: %v", kind, ds)
		}
	}
}

func TestTooManyMembers(t *testing.T) {
	var text strings.Builder
	for i := range source.MaxMembers + 1 {
		fmt.Fprintf(&text, "target \"t%d\" {}\n", i)
	}
	text.WriteString("barrier \"a\" {\n  targets = [\"*\"]\n}\n")
	_, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": text.String()}))
	if !slices.ContainsFunc(ds, func(d diag.Diagnostic) bool { return d.Summary == "Too many targets" }) {
		t.Errorf("%v", ds)
	}
}

// TestUnknownWaits: a state can only name a barrier or signal that the repository declares.
func TestUnknownWaits(t *testing.T) {
	for state, want := range map[string]string{
		`wait_for "a" { barrier = "schema-2" }`: "",
		`wait_for "a" { signal = "start" }`:     "",
		`send_signal "start" {}`:                "",
		`wait_for "a" { barrier = "schema-1" }`: `Unknown barrier: The repository does not declare the barrier "schema-1". ` +
			`Add a barrier block to fettle.hcl. Did you mean "schema-2"?`,
		`wait_for "a" { signal = "schema-2" }`: `does not declare the signal "schema-2"`,
		`send_signal "other" {}`:               `modules/web/main.hcl:1:1: error: Unknown signal`,
	} {
		tree := repo.MapTree(map[string]string{
			"fettle.hcl": "target \"a\" {\n  module \"web\" {}\n}\nbarrier \"schema-2\" {\n  targets = [\"a\"]\n}\n" +
				"signal \"start\" {}\n", "modules/web/main.hcl": state})
		_, ds := compile.Compile(compile.Input{Target: "a", Tree: tree})
		if _, same := compile.Open(tree).Fleet().List(compile.Input{Target: "a", Tree: tree}); len(same) != len(ds) {
			t.Errorf("%s: %v with other targets, %v alone", state, same, ds)
		}
		if got := fmt.Sprint(ds.Err()); (want == "") != (ds.Err() == nil) || !strings.Contains(got, want) && want != "" {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}
