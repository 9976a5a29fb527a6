package kind

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// Step creates a step of a state. It omits attributes with an empty value; to keep empty values, use
// step.New. If the step language rejects a value, the result is a diagnostic at the state.
func (s State) Step(verb step.Verb, args []string, attrs ...step.Attr) (step.Step, diag.List) {
	given := attrs[:0:0]
	for _, a := range attrs {
		if a.Value != "" {
			given = append(given, a)
		}
	}
	st, err := step.New(verb, args, given...)
	if err != nil {
		return step.Step{}, diag.List{diag.Errorf(s.Range, "Impossible step", "%s cannot be written as a step: %s.", s.ID,
			strings.TrimRight(err.Error(), "."))}
	}
	return st, nil
}

// One creates the output of a state with a single step.
func (s State) One(verb step.Verb, args []string, attrs ...step.Attr) (Output, diag.List) {
	st, ds := s.Step(verb, args, attrs...)
	if ds.HasErrors() {
		return Output{}, ds
	}
	return Output{Steps: []step.Step{st}}, nil
}

// Errorf reports an error in an attribute of the state.
func (s State) Errorf(attr, summary, detail string, args ...any) diag.List {
	return diag.List{diag.Errorf(s.AttrRange(attr), summary, detail, args...)}
}

// Flag returns a boolean attribute in the form of a step, or "" for null.
func (s State) Flag(name string) string {
	if !s.Given(name) {
		return ""
	}
	return fmt.Sprint(s.Bool(name))
}

// Absent reports whether the state requests absence.
func (s State) Absent() bool { return s.Str("ensure") == "absent" || s.Str("ensure") == "purged" }

// Owner returns the owner, group and mode of a state as attributes of its step. It omits values that
// are defaults of the step language.
func (s State) Owner(defaultMode string) []step.Attr {
	mode := s.Str("mode")
	if strings.TrimLeft(mode, "0") == strings.TrimLeft(defaultMode, "0") {
		mode = ""
	}
	return []step.Attr{{Key: "owner", Value: notRoot(s.Str("owner"))}, {Key: "group", Value: notRoot(s.Str("group"))},
		{Key: "mode", Value: mode}}
}

func notRoot(name string) string {
	if name == "root" || name == "0" {
		return ""
	}
	return name
}

// PathAttr is an attribute with a path of the target.
func PathAttr(name, doc string) Attr {
	return Attr{Name: name, Type: cty.String, Required: true, Doc: doc, Check: CheckPath}
}

// OwnerAttrs are the attributes owner and group.
func OwnerAttrs() []Attr {
	return []Attr{
		{Name: "owner", Type: cty.String, Doc: "owner; default: root", Check: CheckAccount},
		{Name: "group", Type: cty.String, Doc: "Unix group; default: root", Check: CheckAccount},
	}
}

// ModeAttr is an attribute with permission bits.
func ModeAttr(name, doc string) Attr {
	return Attr{Name: name, Type: cty.String, Doc: doc, Check: CheckMode}
}

// EnsureAttr is the attribute ensure, with the values "present" and "absent".
func EnsureAttr() Attr {
	return Attr{Name: "ensure", Type: cty.String, Default: cty.StringVal("present"),
		OneOf: []string{"present", "absent"}, Doc: "present or absent"}
}

var (
	modePattern    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-7]{3,4}$`) })
	accountPattern = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`^([a-z_][a-z0-9_.-]*[$]?|[0-9]+)$`) })
)

// CheckPath requires a clean absolute path other than "/".
func CheckPath(v cty.Value) error {
	p := v.AsString()
	switch {
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("a path cannot contain a NUL byte")
	case !path.IsAbs(p):
		return fmt.Errorf("%q is not absolute: a path of the target begins with /", p)
	case path.Clean(p) == "/":
		return fmt.Errorf("the root directory itself cannot be managed")
	case path.Clean(p) != p:
		return fmt.Errorf("%q is not a clean path: write %q", p, path.Clean(p))
	}
	return nil
}

// CheckMode requires three or four octal digits.
func CheckMode(v cty.Value) error {
	if !modePattern().MatchString(v.AsString()) {
		return fmt.Errorf("a mode is three or four octal digits in quotes, such as \"0644\", and this is %q", v.AsString())
	}
	return nil
}

// CheckAccount requires the name or number of a user or group.
func CheckAccount(v cty.Value) error {
	if !accountPattern().MatchString(v.AsString()) {
		return fmt.Errorf("%q is not the name of a user or group: use lower-case letters, digits, _ and -", v.AsString())
	}
	return nil
}
