package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

func TestLocks(t *testing.T) {
	list, ds := compile.Locks(repo.MapTree(map[string]string{"fettle.hcl": `
lock "reboots" {
  slots = 2
  lease = "20m"
  reboots = true
}
lock "schema" {
  on_expiry   = "free"
  wait        = "2h"
  alarm_after = "5m"
  description = "migrations"
}
`}))
	if len(ds) > 0 || len(list) != 2 {
		t.Fatalf("%v: %v", list, ds)
	}
	for i, want := range []source.Lock{{Name: "reboots", Slots: 2, Lease: 1200, OnExpiry: "keep", Reboots: true},
		{Name: "schema", Slots: 1, Lease: 1800, OnExpiry: "free", Wait: 7200,
			AlarmAfter: 300}} {
		want.Range = list[i].Range
		if list[i] != want || list[i].Valid() != nil {
			t.Errorf("%+v, want %+v: %v", list[i], want, list[i].Valid())
		}
	}
}

func TestLockErrors(t *testing.T) {
	many := ""
	for i := range source.MaxLocks + 1 {
		many += fmt.Sprintf("lock \"l%d\" {}\n", i)
	}
	for text, want := range map[string]string{
		"lock \"a\" {}\nlock \"a\" {}":                                         "2:6: Lock declared twice",
		`lock "a.b" {}`:                                                        "1:6: Bad name for a lock",
		`lock "` + strings.Repeat("x", 64) + `" {}`:                            "1:6: Bad name for a lock",
		"lock \"a\" {\n  slots = 0\n}":                                         "2:11: Bad number",
		"lock \"a\" {\n  slots = 1001\n}":                                      "2:11: Bad number",
		"lock \"a\" {\n  slots = \"two\"\n}":                                   "2:11: Bad number",
		"lock \"a\" {\n  slots = [1]\n}":                                       "2:11: Wrong type",
		"lock \"a\" {\n  lease = \"9s\"\n}":                                    "2:11: Invalid lease",
		"lock \"a\" {\n  lease = \"31d\"\n}":                                   "2:11: Invalid lease",
		"lock \"a\" {\n  lease = \"soon\"\n}":                                  "2:11: Invalid duration",
		"lock \"a\" {\n  on_expiry = \"fre\"\n}":                               "2:15: Unknown value",
		"lock \"a\" {\n  alarm_after = \"59s\"\n}":                             "2:17: Invalid duration",
		"lock \"a\" {\n  alarm_after = \"31d\"\n}":                             "2:17: Invalid duration",
		"lock \"a\" {\n  places = 2\n}":                                        "2:3: Unknown attribute",
		"lock \"a\" {\n  reboots = 2\n}":                                       "2:13: Wrong type",
		"lock \"a\" {\n  reboots = true\n}\nlock \"b\" {\n  reboots = true\n}": "5:13: Two locks for reboots",
		"lock {}": "1:1: Block needs one label",
		many:      fmt.Sprintf("%d:6: Too many locks", source.MaxLocks+1),
	} {
		list, ds := compile.Locks(repo.MapTree(map[string]string{"fettle.hcl": text}))
		if len(ds) == 0 || list != nil {
			t.Errorf("%.60s: %v, and no error", text, list)
			continue
		}
		got := fmt.Sprintf("%d:%d: %s", ds[0].Range.Start.Line, ds[0].Range.Start.Column, ds[0].Summary)
		if !strings.Contains(got, want) {
			t.Errorf("%.60s: %s, want %s", text, got, want)
		}
	}
	_, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{
		"fettle.hcl": "target \"a\" {\n  module \"web\" {}\n}", "modules/web/main.hcl": "lock \"a\" {}"})})
	if len(ds) == 0 || ds[0].Summary != "Lock inside a module" {
		t.Errorf("a lock inside a module: %v", ds)
	}
}
