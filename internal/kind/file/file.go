// Package file is the kind file: a regular file with its content and metadata.
//
//	file "/etc/motd" {
//	  content = "Welcome to ${target.name}\n"
//	  mode    = "0644"
//	}
package file

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	attrs := []kind.Attr{
		kind.PathAttr("path", "where the file is; the label when left out"),
		{Name: "content", Type: cty.String, Doc: "its text"},
		{Name: "source", Type: cty.String, Doc: "a file of the module, copied as it is"},
		{Name: "template", Type: cty.String, Doc: "a template of the module, rendered with vars"},
		{Name: "vars", Type: cty.DynamicPseudoType, Doc: "object of the template's variables"},
		{Name: "validate", Type: cty.String, Doc: "command that must accept the file; %s is the new file, without it the file is in place and goes back on failure"},
		kind.ModeAttr("mode", "permission bits; 0644 when left out"),
		kind.EnsureAttr(),
	}
	return kind.Kind{
		Name: "file", Main: "path", Attrs: append(attrs, kind.OwnerAttrs()...), Steps: steps,
		Doc: "A regular file: content, owner, group and mode, replaced atomically.",
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	if s.Absent() {
		return absent(s)
	}
	blob, ds := content(s)
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	attrs := append(s.Owner("0644"), step.Attr{Key: "validate", Value: s.Str("validate")})
	out, ds := s.One(step.Copy, []string{blob.Digest, s.Str("path")}, attrs...)
	out.Blobs = []kind.Blob{blob}
	return out, ds
}

func absent(s kind.State) (kind.Output, diag.List) {
	for _, name := range []string{"content", "source", "template", "validate"} {
		if s.Given(name) {
			return kind.Output{}, s.Errorf(name, "Content of an absent file", "The file is to be absent, so it has no %s. Leave it out.", name)
		}
	}
	return s.One(step.Rm, []string{s.Str("path")})
}

// content is the blob of the one of content, source and template that is given.
func content(s kind.State) (kind.Blob, diag.List) {
	var given []string
	for _, name := range []string{"content", "source", "template"} {
		if s.Given(name) {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return kind.Blob{}, diag.List{diag.Errorf(s.Range, "File without content", "Give content, source or template. An empty file is content = \"\".")}
	case len(given) > 1:
		return kind.Blob{}, s.Errorf(given[1], "Content given twice", "A file takes one of content, source and template, and here are %s.", strings.Join(given, " and "))
	case s.Given("vars") && given[0] != "template":
		return kind.Blob{}, s.Errorf("vars", "Variables without a template", "vars are for template. Use template in place of %s, or leave vars out.", given[0])
	}
	switch given[0] {
	case "content":
		return kind.Inline(s.Str("content")), nil
	case "source":
		return source(s)
	}
	return template(s)
}

func source(s kind.State) (kind.Blob, diag.List) {
	b, err := s.FileBlob(s.Str("source"))
	if err != nil {
		return kind.Blob{}, s.Errorf("source", "Source cannot be read", "%v. The path is relative to the module's folder.", err)
	}
	return b, nil
}

func template(s kind.State) (kind.Blob, diag.List) {
	vars, ds := s.Vars("vars")
	if ds.HasErrors() {
		return kind.Blob{}, ds
	}
	text, ds := s.Render(s.Str("template"), "template", vars)
	return kind.Inline(text), ds
}
