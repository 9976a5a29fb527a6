// Package membership is the kind membership: a user in a supplementary group,
// where user and group are declared elsewhere or come with a package.
//
//	membership "prometheus-reads-logs" {
//	  user  = "prometheus"
//	  group = "adm"
//	}
package membership

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	return kind.Kind{
		Name: "membership", Main: "user", Steps: steps,
		Doc: "Membership of one user in one supplementary group.",
		Attrs: []kind.Attr{
			{Name: "user", Type: cty.String, Required: true, Doc: "name of the user; default: the label", Check: kind.CheckName},
			{Name: "group", Type: cty.String, Required: true, Doc: "name of the group", Check: kind.CheckName},
			kind.EnsureAttr(),
		},
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	var ensure step.Attr
	if s.Absent() {
		ensure = step.Attr{Key: "ensure", Value: "absent"}
	}
	return s.One(step.Member, []string{s.Str("user"), s.Str("group")}, ensure)
}
