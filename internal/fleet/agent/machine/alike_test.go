package machine

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// drawn is an assignment of few possible values, so that two are often the same.
func drawn(t *rapid.T) *fleet.Assignment {
	text := func(name string) string { return rapid.SampledFrom([]string{"", "a"}).Draw(t, name) }
	number := func(name string) int64 { return rapid.Int64Range(0, 1).Draw(t, name) }
	part := func(module string) fleet.Assigned {
		return fleet.Assigned{Module: module, Bundle: fleet.Bundle{Digest: text("digest"), Size: number("size")}, Revision: fleet.Revision{Commit: text("commit")}, Permit: text("permit"), NotBefore: number("not before")}
	}
	if number("none") > 0 && number("truly") > 0 {
		return nil
	}
	a := fleet.Assignment{Format: text("format"), Target: fleet.TargetID(text("target")), Name: text("name"), Fleet: text("fleet"), Frozen: text("frozen"), Withdrawn: text("withdrawn"), Epoch: uint64(number("epoch")), Issued: number("issued"), Top: part("")}
	if number("labels") > 0 {
		a.Labels = map[string]string{"a": text("label")}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "modules") {
		a.Modules = append(a.Modules, part(strings.Repeat("m", i+1)))
	}
	if number("exported") > 0 {
		a.Exported = []exported.Table{{Module: text("module"), Type: json.RawMessage(`"string"`), Values: []exported.Value{{Target: text("of"), Value: json.RawMessage(`1`)}}}}
	}
	return &a
}

// TestAlike: two are alike if they have one key, and the other way round.
func TestAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t), drawn(t)
		if a != nil && rapid.Bool().Draw(t, "near") {
			c := *a
			c.Top.Bundle.Size = rapid.Int64Range(0, 1).Draw(t, "top")
			c.Epoch++
			b = &c
		}
		if got, want := alike(a, b), keyOf(a) == keyOf(b); got != want {
			t.Fatalf("%t for\n%+v\n%+v", got, a, b)
		}
	})
}
