package semver

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ExampleConstraint_Allows() {
	c, _ := ParseConstraint(">= 1.4, < 2")
	for _, text := range []string{"1.3.9", "1.4.0-rc1", "1.4", "1.12.1", "2.0.0"} {
		v, _ := Parse(text)
		fmt.Println(text, c.Allows(v))
	}
	// Output:
	// 1.3.9 false
	// 1.4.0-rc1 false
	// 1.4 true
	// 1.12.1 true
	// 2.0.0 false
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "v1.4.0", "1.4.0.1", "1.", ".1", "01.4", "1.04", "-1", "1.4.0-", "1.4.0-rc..1",
		"1.4.0-01", "1.4.0+build", "1.4.0-rc_1", "1 .4", "99999999999999999999", strings.Repeat("1", 201)} {
		if v, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, and must be an error", text, v)
		}
	}
	for _, text := range []string{"0", "1.4", "1.4.0", "1.4.0-rc1", "1.4-rc.1", "1.0.0-0a", "1.0.0--"} {
		if _, err := Parse(text); err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}

func parsed(t interface{ Fatal(...any) }, text string) Version {
	v, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The list is the order of Semantic Versioning.
func TestOrder(t *testing.T) {
	rising := []string{"0", "0.0.1", "0.9", "1.0.0-0", "1.0.0-1", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1",
		"1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1",
		"1.9.0", "1.10.0", "2"}
	for i, a := range rising {
		for j, b := range rising {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := parsed(t, a).Compare(parsed(t, b)); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
	if parsed(t, "1.4").Compare(parsed(t, "1.4.0")) != 0 {
		t.Error("1.4 and 1.4.0 differ")
	}
}

func TestConstraints(t *testing.T) {
	for _, tc := range []struct {
		constraint, version string
		want                bool
	}{
		{"1.4", "1.4.0", true}, {"= 1.4", "1.4.1", false}, {"!= 1.4", "1.4.1", true}, {"!=1.4", "1.4.0", false},
		{"> 1.4", "1.4.0", false}, {">1.4", "1.4.1", true}, {"<= 1.4", "1.4.0", true}, {"<= 1.4", "1.4.1", false},
		{"~> 1.4", "1.4.0", true}, {"~> 1.4", "1.9.3", true}, {"~> 1.4", "2.0.0", false}, {"~> 1.4", "1.3.9", false},
		{"~> 1.4", "2.0.0-rc1", false}, {"~> 1.4.2", "1.4.9", true}, {"~> 1.4.2", "1.5.0", false},
		{">= 1.4, != 1.5.0, < 2", "1.5.0", false}, {">= 1.4, != 1.5.0, < 2", "1.5.1", true},
		{"", "", true}, {"", "anything", true}, {">= 0", "", false}, {">= x", "1", false}, {">= 0", "main", false},
	} {
		if got := Fulfills(tc.version, tc.constraint); got != tc.want {
			t.Errorf("Fulfills(%q, %q) = %t", tc.version, tc.constraint, got)
		}
	}
}

func TestConstraintErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":             "is not a version",
		">=":           "is not a version",
		">= 1.4,":      "is not a version",
		">= 1.4 < 2":   `"1.4 < 2" is not a version`,
		"=> 1.4":       `Did you mean ">= 1.4"?`,
		"^1.4":         `Did you mean "~> 1.4"?`,
		"== 1":         `Did you mean "= 1"?`,
		"<>< 1":        "is not an operator",
		"~> 1":         "at least two numbers",
		">= 1.4, < v2": `"v2" is not a version`,
	} {
		if _, err := ParseConstraint(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseConstraint(%q): %v, and must contain %q", text, err, want)
		}
	}
}

func TestFromTag(t *testing.T) {
	for tag, want := range map[string]string{"v1.4.0": "1.4.0", "1.4": "1.4", "base/v1.4.0-rc1": "1.4.0-rc1", "main": "",
		"v2": "", "release/9": "", "vv1.4": "", "": ""} {
		if got := FromTag(tag); got != want {
			t.Errorf("FromTag(%q) = %q, want %q", tag, got, want)
		}
	}
}

// The order is total: it is antisymmetric and transitive, also for versions with few numbers and with prereleases.
func TestOrderByProperty(t *testing.T) {
	version := rapid.StringMatching(`[0-2](\.[0-2]){0,2}(-(a|b|0|1|10)(\.(a|1|2))?)?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := parsed(t, version.Draw(t, "a")), parsed(t, version.Draw(t, "b")), parsed(t, version.Draw(t, "c"))
		if a.Compare(b) != -b.Compare(a) {
			t.Fatal("the order depends on the sides")
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatal("the order is not transitive")
		}
	})
}
