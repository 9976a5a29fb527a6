package fleet_test

import (
	"bytes"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// Encoding and decoding with shared parts has the same result as without.
func TestCommon(t *testing.T) {
	for name, change := range map[string]func(*fleet.Assignment){
		"as it is":   func(*fleet.Assignment) {},
		"empty":      func(a *fleet.Assignment) { *a = (fleet.Assignment{}).WithoutSharedParts() },
		"no modules": func(a *fleet.Assignment) { a.Modules = nil },
		"none left":  func(a *fleet.Assignment) { a.Modules = []fleet.Assigned{} },
		"its end":    func(a *fleet.Assignment) { a.Withdrawn = string((fleet.Assignment{}).Marshal()) },
	} {
		a := sample()
		change(&a)
		c, err := fleet.NewSharedParts(a.Root, a.Modules)
		if err != nil && name != "empty" {
			t.Fatalf("%s: %v", name, err)
		}
		other := a
		other.Root, other.Modules = fleet.Assigned{Module: "x"}, make([]fleet.Assigned, 3)
		if got := c.Marshal(other); !bytes.Equal(got, a.Marshal()) {
			t.Errorf("%s is written as\n%s\nand without\n%s", name, got, a.Marshal())
		}
		if text, err := c.Text(a.WithoutSharedParts().Marshal()); err != nil || !bytes.Equal(text, a.Marshal()) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if name == "empty" {
			continue
		}
		got, err := c.Parse(a.WithoutSharedParts().Marshal())
		want, wrong := fleet.ParseAssignment(a.Marshal())
		if err != nil || wrong != nil || !got.Same(want) || got.Newer(want) != 0 {
			t.Errorf("%s: read %+v, %v, %v", name, got, err, wrong)
		}
	}
}

// Parts that are invalid in an assignment are also refused as shared parts.
func TestCommonThatIsRefused(t *testing.T) {
	a := sample()
	if _, err := fleet.NewSharedParts(a.Root, append(a.Modules, a.Modules[0])); err == nil {
		t.Error("took a module twice")
	}
	if _, err := fleet.NewSharedParts(a.Modules[0], a.Modules); err == nil {
		t.Error("took a module as the top")
	}
	c, err := fleet.NewSharedParts(a.Root, a.Modules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Text(a.Marshal()); err == nil {
		t.Error("completed what is whole")
	}
	own := string(a.WithoutSharedParts().Marshal())
	for what, text := range map[string]string{
		"another format": strings.Replace(own, fleet.AssignmentFormat, "fettle.assignment/9", 1),
		"a new field":    strings.Replace(own, `"epoch"`, `"new":1,"epoch"`, 1),
		"more behind it": own + "{}",
		"no name":        strings.Replace(own, a.Name, "a/b", 1),
	} {
		if _, err := c.Parse([]byte(text)); err == nil {
			t.Errorf("took one with %s", what)
		}
	}
}
