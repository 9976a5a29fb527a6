package kind

import (
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Edit creates the EDIT step of a state with path, create and ensure. keys are the attributes that
// become attributes of the step; the attribute block contains the name. Unlike Step, it keeps empty
// values: an empty line is a valid line.
func (s State) Edit(keys ...string) (Output, diag.List) {
	var attrs []step.Attr
	var blobs []Blob
	for _, k := range keys {
		from := k
		if k == "block" {
			from = "name"
		}
		content := k == "content" || k == "value" || k == "line" && s.Given("match")
		if !s.Given(from) || s.Absent() && content {
			continue
		}
		a, blob, ds := s.region(k, from)
		if ds.HasErrors() {
			return Output{}, ds
		}
		attrs, blobs = append(attrs, a), append(blobs, blob...)
	}
	out, ds := s.EditOf(attrs...)
	out.Blobs = blobs
	return out, ds
}

// EditOf creates the EDIT step of a state with path, create and ensure. attrs come first.
func (s State) EditOf(attrs ...step.Attr) (Output, diag.List) {
	if s.Bool("create") && !s.Absent() {
		attrs = append(attrs, step.Attr{Key: "create", Value: "true"})
	}
	if s.Absent() {
		attrs = append(attrs, step.Attr{Key: "ensure", Value: "absent"})
	}
	st, err := step.New(step.Edit, []string{s.Str("path")}, attrs...)
	if err != nil {
		return Output{}, diag.List{diag.Errorf(s.Range, "Impossible step",
			"%s cannot be written as a step: %s.", s.ID, strings.TrimRight(err.Error(), "."))}
	}
	return Output{Steps: []step.Step{st}}, nil
}

// region creates one attribute of an EDIT step. A secret becomes a reference and a blob.
func (s State) region(k, from string) (step.Attr, []Blob, diag.List) {
	v := s.Attrs[from]
	plain, marks := v.Unmark()
	text := plain.AsString()
	key, is := secret.KeyOf(Marks(marks))
	switch {
	case !is && secret.LooksLikeRef(text) && k != "block":
		return step.Attr{}, nil, s.Errorf(from, "Value looks like a reference to a secret",
			"It begins like an internal reference to a secret: %q. Change its beginning.", text)
	case !is:
		return step.Attr{Key: k, Value: text}, nil, nil
	case k == "content" && text != "":
		text = strings.TrimSuffix(text, "\n") + "\n"
	case strings.ContainsAny(text, "\n\r\x00"):
		return step.Attr{}, nil, s.Errorf(from, "Secret with a line break",
			"One line cannot contain a line break, and the secret in this line has a line break. Use file_block, or a file "+
				"of its own.")
	case k == "value":
		text = strings.Trim(text, " \t")
	}
	a, b := Referring(k, text, key)
	return a, []Blob{b}, nil
}

// Referring creates an attribute with a reference to a secret text, and the blob of that text.
func Referring(k, text string, key secret.Key) (step.Attr, Blob) {
	return step.Attr{Key: k, Value: key.Ref([]byte(text)).String()}, Inline(string(key.Seal([]byte(text))))
}
