// Package directory is the kind directory: a directory, and with source all of its content.
//
//	directory "/srv/www/site" {
//	  owner  = "www-data"
//	  source = "files/site"
//	  purge  = true
//	}
package directory

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	attrs := []kind.Attr{
		kind.PathAttr("path", "path of the directory; default: the label"),
		{Name: "source", Type: cty.String, File: true, Doc: "a directory of the module that is copied with its content"},
		{Name: "template", Type: cty.String, File: true,
			Doc: "a directory of the module whose files are templates, rendered with vars; the suffix .tmpl is removed"},
		{Name: "vars", Type: cty.DynamicPseudoType, Secret: true, Doc: "object of the templates' variables"},
		{Name: "purge", Type: cty.Bool, Doc: "remove entries that no state declares"},
		{Name: "owner", Type: cty.String, Doc: "owner; default: unchanged, or root for a new directory",
			Check: kind.CheckAccount},
		{Name: "group", Type: cty.String, Doc: "Unix group; default: unchanged, or root for a new directory",
			Check: kind.CheckAccount},
		kind.ModeAttr("mode", "permission bits of the directory; default: unchanged, or 0755 for a new directory"),
		kind.ModeAttr("dir_mode", "permission bits of the directories of source or template; default: mode"),
		kind.ModeAttr("file_mode",
			"permission bits of the files of source or template; default: 0644, or 0755 for executable files"),
		kind.EnsureAttr(),
	}
	return kind.Kind{
		Name: "directory", Main: "path", Attrs: attrs, Steps: steps,
		Doc: "A directory; with source or template a complete tree, one step for each entry. Without owner, group and " +
			"mode it only ensures that the directory exists: an existing directory keeps its values, and manual changes are " +
			"not drift.",
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	if s.Absent() {
		for _, name := range []string{"source", "template", "purge"} {
			if s.Given(name) {
				return kind.Output{}, s.Errorf(name, "Content of an absent directory",
					"An absent directory has no %s. Remove the attribute, or ensure.", name)
			}
		}
		return s.One(step.Rm, []string{s.Str("path")})
	}
	out, ds := s.One(step.Mkdir, []string{s.Str("path")}, dirAttrs(s, "mode")...)
	if ds.HasErrors() {
		return out, ds
	}
	t := &tree{s: s, out: out, from: "source"}
	switch {
	case s.Given("template") && s.Given("source"):
		return out, s.Errorf("template", "Content given twice",
			"A directory has either source or template. Declare a state for each directory.")
	case s.Given("template"):
		t.from = "template"
		if t.vars, ds = s.Vars("vars"); ds.HasErrors() {
			return out, ds
		}
	case s.Given("vars"):
		return out, s.Errorf("vars", "Variables without a template",
			"vars has an effect only with template. Use template, or remove vars.")
	case !s.Given("source"):
		return out, nil
	}
	t.walk(s.Str(t.from), s.Str("path"))
	return t.out, t.ds
}

// dirAttrs returns the attributes of a directory; modeAttr is the attribute with its mode. Given
// values are always written, also if they are defaults, because omitted values leave the directory
// unchanged.
func dirAttrs(s kind.State, modeAttr string) []step.Attr {
	mode := s.Str("mode")
	if m := s.Str(modeAttr); m != "" {
		mode = m
	}
	purge := ""
	if s.Bool("purge") {
		purge = "true"
	}
	return []step.Attr{{Key: "owner", Value: s.Str("owner")}, {Key: "group", Value: s.Str("group")},
		{Key: "mode", Value: mode}, {Key: "purge", Value: purge}}
}
