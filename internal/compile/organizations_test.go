package compile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

func TestOrganizations(t *testing.T) {
	got, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": `
organization "acme" {
  freeze          = "audit until Friday"
  max_unavailable = "10%"
  approvals       = 2
  description     = "a customer"
}
organization "acme/search" { max_unavailable = 1 }
organization "Other-2" {}
`}))
	want := []source.Organization{{Name: "acme", Freeze: "audit until Friday", MaxUnavailable: "10%", Approvals: 2},
		{Name: "acme/search", MaxUnavailable: "1"}, {Name: "Other-2"}}
	if ds.HasErrors() || !reflect.DeepEqual(got.Organizations, want) || got.Valid() != nil {
		t.Errorf("%+v, %v, %v", got, ds, got.Valid())
	}
}

func TestOrganizationErrors(t *testing.T) {
	many := ""
	for i := range source.MaxOrganizations + 1 {
		many += fmt.Sprintf("organization \"o%d\" {}\n", i)
	}
	for text, want := range map[string]string{
		"organization {}":                                         "1:1: Block needs one label",
		`organization "" {}`:                                      "1:14: Bad label",
		`organization "acme/" {}`:                                 "1:14: Bad name for an organization",
		`organization "a_b" {}`:                                   "1:14: Bad name for an organization",
		`organization "a/../b" {}`:                                "1:14: Bad name for an organization",
		`organization "` + strings.Repeat("a/", 8) + `a" {}`:      "1:14: Bad name for an organization",
		"organization \"a\" {}\norganization \"a\" {}":            "2:14: Organization declared twice",
		"organization \"a\" {\n  freeze = \"\"\n}":                "2:12: Bad reason",
		"organization \"a\" {\n  freeze = true\n  freezes = 1\n}": "3:3: Unknown attribute",
		"organization \"a\" {\n  max_unavailable = 0\n}":          "2:21: Bad number of targets",
		"organization \"a\" {\n  max_unavailable = \"101%\"\n}":   "2:21: Bad number of targets",
		"organization \"a\" {\n  approvals = 21\n}":               "2:15: Bad number",
		"organization \"a\" {\n  approvals = -1\n}":               "2:15: Bad number",
		"organization \"a\" {\n  approvals = \"some\"\n}":         "2:15: Bad number",
		many: fmt.Sprintf("%d:14: Too many organizations", source.MaxOrganizations+1),
	} {
		got, ds := compile.Waits(repo.MapTree(map[string]string{"fettle.hcl": text}))
		if len(ds) == 0 || got.Organizations != nil {
			t.Errorf("%.60s: %v, and no error", text, got)
			continue
		}
		at := fmt.Sprintf("%d:%d: %s", ds[0].Range.Start.Line, ds[0].Range.Start.Column, ds[0].Summary)
		if !strings.Contains(at, want) {
			t.Errorf("%.60s: %s, want %s", text, at, want)
		}
	}
}
