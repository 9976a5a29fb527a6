// Package metadata is the kind metadata: owner, group, mode, ACL and inode attributes of a path whose
// content fettle does not write.
//
//	metadata "/var/log/shop" {
//	  group = "adm"
//	  mode  = "0750"
//	}
package metadata

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	return kind.Kind{
		Name: "metadata", Main: "path", Steps: steps,
		Doc: "Owner, group, mode, ACL and attributes of a path that fettle does not write, such as a file of a package. " +
			"Omitted properties do not change. For a file that fettle writes, set them in its own state.",
		Attrs: []kind.Attr{
			kind.PathAttr("path", "the path, which must exist; default: the label"),
			{Name: "owner", Type: cty.String, Doc: "user that owns it", Check: kind.CheckAccount},
			{Name: "group", Type: cty.String, Doc: "Unix group", Check: kind.CheckAccount},
			kind.ModeAttr("mode", "permission bits"),
			{Name: "acl", Type: cty.String, Doc: "access ACL in setfacl's short form, entries joined by commas; - for none"},
			{Name: "attrs", Type: cty.String, Doc: "inode attributes as chattr's letters: a, i, or none as -"},
		},
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	var attrs []step.Attr
	for _, name := range []string{"owner", "group", "mode", "acl", "attrs"} {
		if !s.Given(name) {
			continue
		}
		if s.Str(name) == "" {
			return kind.Output{}, s.Errorf(name, "Empty attribute", "%s is empty. Remove it, or write - for none.", name)
		}
		attrs = append(attrs, step.Attr{Key: name, Value: s.Str(name)})
	}
	if len(attrs) == 0 {
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "No metadata",
			"Set at least one of owner, group, mode, acl and attrs.")}
	}
	return s.One(step.Meta, []string{s.Str("path")}, attrs...)
}
