package kind

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// Edit makes the EDIT step of a state that has path, create and ensure, with
// the attributes of these names as its keys; block is the state's name. Unlike
// Step it keeps keys with an empty value: an empty line is a line.
func (s State) Edit(keys ...string) (Output, diag.List) {
	var attrs []step.Attr
	for _, k := range keys {
		from := k
		if k == "block" {
			from = "name"
		}
		content := k == "content" || k == "value" || k == "line" && s.Given("match")
		if s.Given(from) && !(s.Absent() && content) {
			attrs = append(attrs, step.Attr{Key: k, Value: s.Str(from)})
		}
	}
	if s.Bool("create") && !s.Absent() {
		attrs = append(attrs, step.Attr{Key: "create", Value: "true"})
	}
	if s.Absent() {
		attrs = append(attrs, step.Attr{Key: "ensure", Value: "absent"})
	}
	st, err := step.New(step.Edit, []string{s.Str("path")}, attrs...)
	if err != nil {
		return Output{}, diag.List{diag.Errorf(s.Range, "Impossible step", "%s comes to no step: %v.", s.ID, err)}
	}
	return Output{Steps: []step.Step{st}}, nil
}
