// Package pkg is the kind package: apt packages.
//
//	package "nginx" {}
//	package "tools" { names = ["git", "tmux"] }
package pkg

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	return kind.Kind{
		Name: "package", Main: "name", Steps: steps,
		Doc: "An apt package, or several. Consecutive packages are one transaction. A package that leaves the list is " +
			"removed, not purged.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Doc: "the package; default: the label"},
			{Name: "names", Type: cty.List(cty.String), Doc: "several packages, instead of name"},
			{Name: "version", Type: cty.String, Doc: "the exact version; default: any"},
			{Name: "held", Type: cty.Bool, Doc: "kept from upgrades"},
			{Name: "ensure", Type: cty.String, Default: cty.StringVal("present"), OneOf: []string{"present", "absent", "purged"},
				Doc: "present; absent: removed, its configuration files and data stay; or purged: removed, and they are deleted"},
		},
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	names := []string{s.Str("name")}
	if s.Given("names") {
		names = s.Strings("names")
	}
	if s.Absent() && (s.Given("version") || s.Bool("held")) {
		return kind.Output{}, s.Errorf("ensure", "Version of an absent package",
			"An absent or purged package has neither version nor held. Remove these attributes.")
	}
	if s.Given("version") && len(names) > 1 {
		return kind.Output{}, s.Errorf("version", "One version for several packages",
			"Declare a state for each package with a version.")
	}
	attrs := []step.Attr{{Key: "version", Value: s.Str("version")}, {Key: "held", Value: s.Flag("held")}}
	if s.Absent() {
		attrs = []step.Attr{{Key: "ensure", Value: s.Str("ensure")}}
	}
	var out kind.Output
	for _, n := range names {
		st, ds := s.Step(step.Pkg, []string{n}, attrs...)
		if ds.HasErrors() {
			return kind.Output{}, ds
		}
		out.Steps = append(out.Steps, st)
	}
	return out, nil
}
