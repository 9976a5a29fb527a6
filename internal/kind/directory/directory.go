// Package directory is the kind directory: a directory, and with source all
// that is in it.
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
		kind.PathAttr("path", "where the directory is; the label when left out"),
		{Name: "source", Type: cty.String, Doc: "a folder of the module that is copied with all that is in it"},
		{Name: "purge", Type: cty.Bool, Doc: "remove entries that no state declares"},
		kind.ModeAttr("mode", "permission bits of the directory; 0755 when left out"),
		kind.ModeAttr("dir_mode", "permission bits of the directories of source; mode when left out"),
		kind.ModeAttr("file_mode", "permission bits of the files of source; 0644, or 0755 for executable ones, when left out"),
		kind.EnsureAttr(),
	}
	return kind.Kind{
		Name: "directory", Main: "path", Attrs: append(attrs, kind.OwnerAttrs()...), Steps: steps,
		Doc: "A directory with owner, group and mode; with source a whole tree, one step an entry.",
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	if s.Absent() {
		for _, name := range []string{"source", "purge"} {
			if s.Given(name) {
				return kind.Output{}, s.Errorf(name, "Content of an absent directory", "The directory is to be absent, so it has no %s. Leave it out.", name)
			}
		}
		return s.One(step.Rm, []string{s.Str("path")})
	}
	out, ds := s.One(step.Mkdir, []string{s.Str("path")}, dirAttrs(s, "mode")...)
	if ds.HasErrors() || !s.Given("source") {
		return out, ds
	}
	t := &tree{s: s, out: out}
	t.walk(s.Str("source"), s.Str("path"))
	return t.out, t.ds
}

// dirAttrs are the attributes of a directory, its mode from the named one.
func dirAttrs(s kind.State, modeAttr string) []step.Attr {
	attrs := s.Owner("0755")
	if m := s.Str(modeAttr); modeAttr != "mode" && m != "" {
		attrs[2].Value = m
	}
	purge := ""
	if s.Bool("purge") {
		purge = "true"
	}
	return append(attrs, step.Attr{Key: "purge", Value: purge})
}
