package compile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/window"
)

const windows = `
window "nights" {
  schedule = "0 2 * * *"
  duration = "4h"
  zone     = "Europe/Berlin"
}
window "weekends" {
  schedule = "0 0 * * 6"
  duration = "2d"
}
window "christmas" {
  schedule = "0 0 20 12 *"
  duration = "14d"
  changes  = "deny"
}
`

// Windows that deny add up, and the last policy with windows that allow counts.
func TestWindowsOfTargets(t *testing.T) {
	targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": windows + `
policy { windows = ["nights", "christmas"] }
target_group "db" {
  targets = ["db*"]
  policy { windows = ["weekends"] }
}
target "db1" {}
target "web1" {}
target "web2" {
  policy { windows = [] }
}
`}))
	got := map[string]string{}
	for _, x := range targets {
		for _, w := range x.Windows {
			got[x.Name] = strings.TrimSpace(got[x.Name] + " " + w.Name)
		}
	}
	want := map[string]string{"db1": "christmas weekends", "web1": "christmas nights", "web2": "christmas"}
	if len(ds) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v: %v", got, want, ds)
	}
}

func TestWindowErrors(t *testing.T) {
	for text, want := range map[string]string{
		`window "a" { schedule = "0 2 * * *" }`:                                              "Missing attribute",
		`window "a" { duration = "1h" }`:                                                     "Missing attribute",
		`window "a" { schedule = "0 2 * *" duration = "1h" }`:                                "",
		"window \"a\" {\n schedule = \"0 2 * *\"\n duration = \"1h\"\n}":                     "Invalid window",
		"window \"a\" {\n schedule = \"0 2 * * *\"\n duration = \"1m\"\n}":                   "Invalid window",
		"window \"a\" {\n schedule = \"0 2 * * *\"\n duration = \"1h\"\n zone = \"X\"\n}":    "Invalid window",
		"window \"a\" {\n schedule = \"0 2 * * *\"\n duration = \"1h\"\n changes = \"x\"\n}": "Unknown value",
		windows + `policy { windows = ["night"] }`:                                           "Unknown window",
		windows + "window \"nights\" {\n schedule = \"0 2 * * *\"\n duration = \"1h\"\n}":    "Window declared twice",
	} {
		_, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": text + "\ntarget \"t\" {}\n"}))
		found := want == "" && len(ds) > 0
		for _, d := range ds {
			found = found || d.Summary == want
		}
		if !found {
			t.Errorf("%s: %v, want %q", text, ds, want)
		}
	}
}

// A window can have the time zone of each target.
func TestWindowWithZoneOfTarget(t *testing.T) {
	const text = `
window "nights" {
  schedule = "0 2 * * *"
  duration = "4h"
  zone     = "%s"
}
policy { windows = ["nights"] }
target "t" {}
`
	targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": fmt.Sprintf(text, "target")}))
	if len(ds) > 0 || len(targets) != 1 || targets[0].Windows[0].Zone != window.TargetZone {
		t.Errorf("%+v: %v", targets, ds)
	}
	_, ds = compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": fmt.Sprintf(text, "traget")}))
	if len(ds) != 1 || ds[0].Range.String() != "fettle.hcl:5:14" ||
		!strings.Contains(ds[0].Detail, `Did you mean "target"?`) {
		t.Errorf("%v", ds)
	}
}
