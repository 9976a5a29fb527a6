// Package group is the kind group: a Unix group.
//
//	group "deploy" {
//	  gid = 1500
//	}
package group

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	return kind.Kind{
		Name: "group", Main: "name", Steps: steps,
		Doc: "A Unix group. Declare its members with membership, or with groups of user.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true, Doc: "name of the group; default: the label",
				Check: kind.CheckName},
			{Name: "gid", Type: cty.Number, Doc: "group id; default: the next free id", Check: kind.CheckID},
			{Name: "system", Type: cty.Bool, Doc: "a system group: an id below 1000"},
			kind.EnsureAttr(),
		},
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	if s.Absent() {
		return s.One(step.Group, []string{s.Str("name")}, step.Attr{Key: "ensure", Value: "absent"})
	}
	return s.One(step.Group, []string{s.Str("name")},
		step.Attr{Key: "gid", Value: s.Number("gid")}, step.Attr{Key: "system", Value: s.Flag("system")})
}
