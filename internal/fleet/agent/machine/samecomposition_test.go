package machine

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/window"
)

// drawn returns an assignment from few possible values, so that two are often equal.
func drawn(t *rapid.T) *fleet.Assignment {
	text := func(name string) string { return rapid.SampledFrom([]string{"", "a"}).Draw(t, name) }
	number := func(name string) int64 { return rapid.Int64Range(0, 1).Draw(t, name) }
	part := func(module string) fleet.Assigned {
		return fleet.Assigned{Module: module, Bundle: fleet.Bundle{Digest: text("digest"), Size: number("size")},
			Revision: fleet.Revision{Commit: text("commit")}, Permit: text("permit"), NotBefore: number("not before")}
	}
	if number("none") > 0 && number("truly") > 0 {
		return nil
	}
	a := fleet.Assignment{Format: text("format"), Target: fleet.TargetID(text("target")), Name: text("name"),
		Fleet: text("fleet"), Frozen: text("frozen"), Withdrawn: text("withdrawn"), Epoch: uint64(number("epoch")),
		Issued: number("issued"), Root: part("")}
	if number("labels") > 0 {
		a.Labels = map[string]string{"a": text("label")}
	}
	if number("environment") > 0 {
		a.Environment = &fleet.Environment{Name: text("environment"), Vars: map[string]string{"a": text("var")}}
	}
	if number("tests for") > 0 {
		a.TestsFor = []fleet.Environment{{Name: text("tests for")}}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "modules") {
		a.Modules = append(a.Modules, part(strings.Repeat("m", i+1)))
	}
	if number("exported") > 0 {
		a.Exported = []exported.Table{{Module: text("module"), Type: json.RawMessage(`"string"`),
			Values: []exported.Value{{Target: text("of"), Value: json.RawMessage(`1`)}}}}
	}
	return &a
}

// TestAlike: sameComposition is true if and only if the keys are equal.
func TestAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t), drawn(t)
		if a != nil && rapid.Bool().Draw(t, "near") {
			c := *a
			c.Root.Bundle.Size = rapid.Int64Range(0, 1).Draw(t, "top")
			c.Epoch++
			b = &c
		}
		if got, want := sameComposition(a, b), keyOf(a) == keyOf(b); got != want {
			t.Fatalf("%t for\n%+v\n%+v", got, a, b)
		}
	})
}

// TestAlikeInEachField: each field that influences the host matters, and no other field does.
func TestAlikeInEachField(t *testing.T) {
	full := func() *fleet.Assignment {
		return &fleet.Assignment{
			Format: fleet.AssignmentFormat, Target: "t", Name: "n", Fleet: "f", Labels: map[string]string{"a": "b"},
			Root:    fleet.Assigned{Bundle: fleet.Bundle{Digest: "top", Size: 1}},
			Modules: []fleet.Assigned{{Module: "m", Bundle: fleet.Bundle{Digest: "m", Size: 1}}},
			Exported: []exported.Table{{Module: "m", Output: "o", Type: json.RawMessage(`"string"`),
				Values: []exported.Value{{Target: "x", Value: json.RawMessage(`"v"`)}}}},
		}
	}
	for what, c := range map[string]struct {
		change func(a *fleet.Assignment)
		alike  bool
	}{
		"nothing":     {func(*fleet.Assignment) {}, true},
		"format":      {func(a *fleet.Assignment) { a.Format = "x" }, false},
		"target":      {func(a *fleet.Assignment) { a.Target = "x" }, false},
		"name":        {func(a *fleet.Assignment) { a.Name = "x" }, false},
		"fleet":       {func(a *fleet.Assignment) { a.Fleet = "x" }, false},
		"labels":      {func(a *fleet.Assignment) { a.Labels["a"] = "x" }, false},
		"environment": {func(a *fleet.Assignment) { a.Environment = &fleet.Environment{Name: "x"} }, false},
		"top":         {func(a *fleet.Assignment) { a.Root.Bundle.Digest = "x" }, false},
		"module":      {func(a *fleet.Assignment) { a.Modules[0].Module = "x" }, false},
		"bundle":      {func(a *fleet.Assignment) { a.Modules[0].Bundle.Size = 2 }, false},
		"one more":    {func(a *fleet.Assignment) { a.Modules = append(a.Modules, a.Modules[0]) }, false},
		"none":        {func(a *fleet.Assignment) { a.Modules = nil }, false},
		"values":      {func(a *fleet.Assignment) { a.Exported[0].Values[0].Value = json.RawMessage(`"x"`) }, false},
		"epoch":       {func(a *fleet.Assignment) { a.Epoch = 9 }, true},
		"generation":  {func(a *fleet.Assignment) { a.Generation = 9 }, true},
		"issued":      {func(a *fleet.Assignment) { a.Issued = 9 }, true},
		"frozen":      {func(a *fleet.Assignment) { a.Frozen = "x" }, true},
		"withdrawn":   {func(a *fleet.Assignment) { a.Withdrawn = "x" }, true},
		"program":     {func(a *fleet.Assignment) { a.Binary = &fleet.Binary{Version: "x"} }, true},
		"revision":    {func(a *fleet.Assignment) { a.Modules[0].Revision.Commit = "x" }, true},
		"needs":       {func(a *fleet.Assignment) { a.Modules[0].Needs = []fleet.Need{{Module: "x"}} }, true},
		"permit":      {func(a *fleet.Assignment) { a.Root.Permit = "x" }, true},
		"time of day": {func(a *fleet.Assignment) { a.Modules[0].NotBefore = 9 }, true},
		"tests for":   {func(a *fleet.Assignment) { a.TestsFor = []fleet.Environment{{Name: "x"}} }, true},
		"windows":     {func(a *fleet.Assignment) { a.Windows = []window.Window{{Name: "x"}} }, true},
	} {
		a, b := full(), full()
		c.change(b)
		if sameComposition(a, b) != c.alike || (keyOf(a) == keyOf(b)) != c.alike {
			t.Errorf("%s: alike %t, the same key %t, want %t", what, sameComposition(a, b), keyOf(a) == keyOf(b), c.alike)
		}
	}
	if a := full(); sameComposition(a, nil) || sameComposition(nil, a) || !sameComposition(nil, nil) || keyOf(nil) != "" {
		t.Error("nothing is like something")
	}
}
