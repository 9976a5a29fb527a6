// Package link is the kind link: a symbolic link.
//
//	link "/etc/nginx/sites-enabled/site" {
//	  target = "../sites-available/site"
//	}
package link

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	attrs := []kind.Attr{
		kind.PathAttr("path", "path of the link; default: the label"),
		{Name: "target", Type: cty.String, Doc: "destination, absolute or relative to the directory of the link",
			Check: checkTarget},
		kind.EnsureAttr(),
	}
	return kind.Kind{Name: "link", Main: "path", Attrs: append(attrs, kind.OwnerAttrs()...), Steps: steps,
		Doc: "A symbolic link."}
}

func checkTarget(v cty.Value) error {
	if t := v.AsString(); t == "" || strings.ContainsRune(t, 0) {
		return fmt.Errorf("the target of a link cannot be empty")
	}
	return nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	if s.Absent() {
		return s.One(step.Rm, []string{s.Str("path")})
	}
	if !s.Given("target") {
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "Missing attribute",
			"A link needs target, the destination of the link.")}
	}
	return s.One(step.Link, []string{s.Str("target"), s.Str("path")}, s.Owner("")[:2]...)
}
