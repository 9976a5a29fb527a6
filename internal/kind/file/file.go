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
		kind.PathAttr("path", "path of the file; default: the label"),
		{Name: "content", Type: cty.String, Secret: true, Doc: "the text"},
		{Name: "source", Type: cty.String, File: true, Doc: "a file of the module, copied unchanged"},
		{Name: "template", Type: cty.String, File: true, Doc: "a template of the module, rendered with vars"},
		{Name: "vars", Type: cty.DynamicPseudoType, Secret: true, Doc: "object of the template's variables"},
		{Name: "secret", Type: cty.String, Doc: "a secret of the repository, copied unchanged"},
		{Name: "validate", Type: cty.String,
			Doc: "command that must accept the file; %s is the new file; without %s the file is in place, and a failure " +
				"restores the old one"},
		kind.ModeAttr("mode", "permission bits; default: 0644, or 0600 with a secret"),
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
	blob, key, ds := content(s)
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	attrs := s.Owner("0644")
	if key != "" {
		var more diag.List
		attrs, more = s.Guard(s.Owner(""), "mode", key)
		ds = append(ds, more...)
	}
	attrs = append(attrs, step.Attr{Key: "validate", Value: s.Str("validate")})
	out, more := s.One(step.Copy, []string{blob.Digest, s.Str("path")}, attrs...)
	out.Blobs = []kind.Blob{blob}
	return out, append(ds, more...)
}

func absent(s kind.State) (kind.Output, diag.List) {
	for _, name := range []string{"content", "source", "template", "secret", "validate"} {
		if s.Given(name) {
			return kind.Output{}, s.Errorf(name, "Content of an absent file",
				"An absent file has no %s. Remove the attribute, or ensure.", name)
		}
	}
	return s.One(step.Rm, []string{s.Str("path")})
}

// content returns the blob of the given attribute: content, source, template or secret. key is the ID
// of the key that encrypts it, or "".
func content(s kind.State) (blob kind.Blob, key string, ds diag.List) {
	var given []string
	for _, name := range []string{"content", "source", "template", "secret"} {
		if s.Given(name) {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return kind.Blob{}, "", diag.List{diag.Errorf(s.Range, "File without content",
			"Set content, source, template or secret. For an empty file, set content = \"\".")}
	case len(given) > 1:
		return kind.Blob{}, "", s.Errorf(given[1], "Content given twice",
			"A file has one of content, source, template and secret, and this state has %s.", strings.Join(given, " and "))
	case s.Given("vars") && given[0] != "template":
		return kind.Blob{}, "", s.Errorf("vars", "Variables without a template",
			"vars has an effect only with template. Use template instead of %s, or remove vars.", given[0])
	}
	switch given[0] {
	case "content":
		blob, key = kind.TextBlob(s.Attrs["content"])
		return blob, key, nil
	case "source":
		blob, ds = source(s)
		return blob, "", ds
	case "secret":
		return whole(s)
	}
	return template(s)
}

// whole is a secret, byte by byte.
func whole(s kind.State) (kind.Blob, string, diag.List) {
	sec, err := s.Files.Secret(s.Str("secret"))
	if err != nil {
		return kind.Blob{}, "", s.Errorf("secret", "Secret cannot be read", "%v.", err)
	}
	b, key := kind.Sealed(sec.Content, sec.Key)
	return b, key, nil
}

func source(s kind.State) (kind.Blob, diag.List) {
	b, err := s.FileBlob(s.Str("source"))
	if err != nil {
		return kind.Blob{}, s.Errorf("source", "Source cannot be read",
			"%v. The path is relative to the module's directory.", err)
	}
	return b, nil
}

func template(s kind.State) (kind.Blob, string, diag.List) {
	vars, ds := s.Vars("vars")
	if ds.HasErrors() {
		return kind.Blob{}, "", ds
	}
	text, ds := s.Render(s.Str("template"), "template", vars)
	if ds.HasErrors() {
		return kind.Blob{}, "", ds
	}
	blob, key := kind.TextBlob(text)
	return blob, key, ds
}
