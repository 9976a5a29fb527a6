// Package filekey is the kinds json_key, yaml_key, toml_key, ini_key and xml_key:
// one value of a file that others write too, in a format whose inside is known.
//
//	json_key "log-opts.max-size" {
//	  path  = "/etc/docker/daemon.json"
//	  value = "10m"
//	}
//	xml_key "server.listen.@port" {
//	  path  = "/etc/app/server.xml"
//	  value = 8080
//	}
package filekey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// format is the file format of one of the kinds.
type format struct {
	name, keys string
	json       bool // values are of any type, and written as JSON into the list
}

// Kinds gives the kinds of all formats. The value is fresh at each call.
func Kinds() []kind.Kind {
	var out []kind.Kind
	for _, f := range []format{
		{"json", "names joined by dots, such as log-opts.max-size; double quotes for names with other characters than " +
			"letters, digits, _ and -; [0] for an entry of a list; or a list of names", true},
		{"yaml", "names joined by dots, as for json_key", true},
		{"toml", "names joined by dots, as for json_key, beginning with the names of the table", true},
		{"ini", "SECTION.KEY, or KEY before the first section; double quotes for names with dots or blanks; or a list of " +
			"both",
			false},
		{"xml", "names of elements joined by dots, beginning with the root; [1] for the second element of a name; @NAME " +
			"at the end for an attribute", false},
	} {
		out = append(out, f.kind())
	}
	return out
}

func (f format) kind() kind.Kind {
	value := "the value, of any type"
	if !f.json {
		value = "the value, a text, number or bool"
	}
	return kind.Kind{
		Name: f.name + "_key", Main: "key", Steps: f.steps,
		Doc: "One value of a file in " + strings.ToUpper(f.name) +
			" with other content. The value is replaced in place, or added to its section; all other bytes stay unchanged. A " +
			"change that would affect more, or an invalid file, is refused. Undone completely: the old text of the value, " +
			"or its absence, and the absence of the file.",
		Attrs: []kind.Attr{
			kind.PathAttr("path", "the file"),
			{Name: "key", Type: cty.DynamicPseudoType, Required: true, Doc: f.keys + "; default: the label"},
			{Name: "value", Type: cty.DynamicPseudoType, Doc: value, Secret: true},
			{Name: "create", Type: cty.Bool, Doc: "create a missing file, for root with mode 0644"},
			kind.EnsureAttr(),
		},
	}
}

func (f format) steps(s kind.State) (kind.Output, diag.List) {
	key, err := keyOf(s.Attrs["key"])
	if err != nil {
		return kind.Output{}, s.Errorf("key", "Bad key", "%s.", sentence(err))
	}
	attrs := []step.Attr{{Key: "key", Value: key}}
	var blobs []kind.Blob
	switch {
	case s.Absent() && s.Given("value"):
		return kind.Output{}, s.Errorf("value", "Value of an absent key",
			"An absent key has no value. Remove value, or ensure.")
	case !s.Absent():
		a, more, err := f.attr(s.Attrs["value"])
		if err != nil {
			return kind.Output{}, s.Errorf("value", "Bad value", "%s.", sentence(err))
		}
		attrs, blobs = append(attrs, a), more
	}
	out, ds := s.EditOf(append(attrs, step.Attr{Key: "format", Value: f.name})...)
	out.Blobs = blobs
	return out, ds
}

// attr returns the value for the step. Errors about a secret value do not quote the value.
func (f format) attr(v cty.Value) (step.Attr, []kind.Blob, error) {
	plain, marks := v.UnmarkDeep()
	text, err := f.value(plain)
	key, is := secret.KeyOf(kind.Marks(marks))
	switch {
	case !is && err == nil && secret.LooksLikeRef(text):
		return step.Attr{}, nil,
			fmt.Errorf("the value begins like an internal reference to a secret: %q; change its beginning", text)
	case !is:
		return step.Attr{Key: "value", Value: text}, nil, err
	case err != nil:
		return step.Attr{}, nil, fmt.Errorf("the value contains a secret, and %s cannot represent it",
			strings.ToUpper(f.name))
	}
	if f.json {
		text = canonical(text)
	} else if f.name == "ini" {
		if text = strings.TrimSpace(text); strings.ContainsAny(text, "\n\r") || strings.HasSuffix(text, "\\") {
			return step.Attr{}, nil,
				errors.New("the secret has a line break or a backslash at its end, which INI cannot represent")
		}
	}
	a, b := kind.Referring("value", text, key)
	return a, []kind.Blob{b}, nil
}

// canonical returns JSON in the form that the verb compares, so that equal secrets have equal text.
func canonical(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if d.Decode(&v) != nil || e.Encode(v) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// keyOf is a key in the one spelling that steps have, from a text or from a list
// of names.
func keyOf(v cty.Value) (string, error) {
	v, _ = v.UnmarkDeep()
	var parts []step.KeyPart
	switch ty := v.Type(); {
	case ty == cty.String:
		split, err := step.SplitKey(v.AsString())
		if err != nil {
			return "", err
		}
		parts = split
	case ty.IsTupleType() || ty.IsListType():
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if e.IsNull() || e.Type() != cty.String && e.Type() != cty.Number {
				return "", fmt.Errorf("a key that is a list contains names, and numbers for entries of lists")
			}
			part := step.KeyPart{Entry: -1}
			if e.Type() == cty.Number {
				n, _ := e.AsBigFloat().Int64()
				part.Entry = int(n)
			} else {
				part.Name = e.AsString()
			}
			parts = append(parts, part)
		}
	default:
		return "", fmt.Errorf("a key is a text, or a list of names")
	}
	if len(parts) == 0 || parts[0].Entry >= 0 {
		return "", fmt.Errorf("a key begins with a name")
	}
	return step.JoinKey(parts), nil
}

// value is a value as the step has it.
func (f format) value(v cty.Value) (string, error) {
	v, _ = v.UnmarkDeep()
	if !f.json {
		text, err := convert.Convert(v, cty.String)
		if err != nil || text.IsNull() {
			return "", fmt.Errorf("a value in %s is a text, number or bool; to remove the key, set ensure = \"absent\"",
				strings.ToUpper(f.name))
		}
		return text.AsString(), nil
	}
	if v.IsNull() {
		return "", fmt.Errorf("the key needs a value; to remove it, set ensure = \"absent\"")
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "", fmt.Errorf("the value cannot be written as JSON: %w", err)
	}
	return string(b), nil
}
