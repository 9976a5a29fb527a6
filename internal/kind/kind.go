// Package kind defines kinds of states. A kind is a schema and a pure function from an evaluated state
// to steps. Built-in kinds are in directories below; stdlib contains kinds that are written in the
// language.
//
//	var Link = kind.Kind{
//		Name: "link", Main: "path",
//		Attrs: []kind.Attr{{Name: "path", Type: cty.String}, {Name: "target", Type: cty.String, Required: true}},
//		Steps: func(s kind.State) (kind.Output, diag.List) { … },
//	}
//
// A kind does not use a host, a clock or the network: the same state always gives the same steps.
package kind

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Kind is a type of state.
type Kind struct {
	Name string
	Doc  string // its purpose in one or more sentences, with an example
	// Main is the attribute whose default is the label of the state. It must accept a string: its type is
	// cty.String, or cty.DynamicPseudoType with a Check.
	Main string
	// Free reports that Main is only a name in the list, not an object of the host: several modules
	// can use the same name.
	Free  bool
	Attrs []Attr
	// Outputs are the values that a kind in the language provides in addition to its attributes, with
	// their documentation.
	Outputs []Attr
	// Actions are the lazy actions that can be notified, such as service.nginx.reload.
	Actions []Action
	// Steps returns the steps of one evaluated state, in the order of execution. s contains all
	// attributes of the schema; an optional attribute without a value is null.
	Steps func(s State) (Output, diag.List)
	// Result returns the address of the command whose output is the computed attribute of s. No other
	// attribute of s is unknown. It is nil for kinds without a computed attribute.
	Result func(s State) (addr.Addr, diag.List)
	// Expand returns configuration that replaces a state, or nil if the state has steps. It is nil for
	// most kinds.
	Expand func(s State) (*Expansion, diag.List)
}

// Expansion contains states in the JSON form of the language, in a file of the repository.
type Expansion struct {
	File string // its path in the repository, for diagnostics
	Text []byte
}

// Attr is one attribute of a kind.
type Attr struct {
	Name     string
	Type     cty.Type
	Required bool
	Default  cty.Value // cty.NilVal means null
	OneOf    []string  // the allowed values of a string
	Doc      string
	// File reports that the value is the path of a file or directory of the module.
	File bool
	// Computed reports that the attribute cannot be set. References read it; only a run determines its
	// value.
	Computed bool
	// Check is an additional rule. Its error is displayed as a full sentence.
	Check func(cty.Value) error
	// Secret reports that the value may contain a secret and be marked. The kind must encrypt it.
	// OneOf and Check are not applied to such a value.
	Secret bool
}

// Action is a lazy action of a kind.
type Action struct {
	Name string
	Doc  string
	// Act creates the ACT step without its on= attributes, which the compiler adds.
	Act func(s State) (step.Step, diag.List)
}

// State is one evaluated state.
type State struct {
	// ID is the reference to the state, such as file.site-conf. In messages, the path of the module
	// is in front. With for_each, ["key"] follows.
	ID    string
	Kind  string
	Label string
	Attrs map[string]cty.Value
	Range diag.Range
	// AttrRanges are the positions of the given attributes.
	AttrRanges map[string]diag.Range
	Files      Files
}

// Files is the directory of the module that declares a state. Paths are relative to it, and paths
// outside of it are errors.
type Files interface {
	repo.Tree
	// Template renders a template file with these variables. The text has the marks of its secrets.
	Template(path string, vars map[string]cty.Value) (cty.Value, diag.List)
	// Secret returns a secret. Its name is relative to the secrets of the repository.
	Secret(name string) (Secret, error)
	// Source converts a path of the module to a path of the repository, for source maps.
	Source(path string) string
}

// Output is the result of a state.
type Output struct {
	Steps []step.Step
	Blobs []Blob
}

// Blob is content that a step names by its digest. It is inline or a file of the repository. The file
// is opened on use, so that large files are never completely in memory.
type Blob struct {
	Digest string
	Size   int64
	Data   []byte    // inline content, or
	Tree   repo.Tree // or the tree and
	Path   string    // the path in the tree
}

// Str returns a string attribute, or "" for null.
func (s State) Str(name string) string {
	v, ok := s.Attrs[name]
	if !ok || v.IsNull() {
		return ""
	}
	v, _ = v.Unmark()
	return v.AsString()
}

// Bool returns a boolean attribute, or false for null.
func (s State) Bool(name string) bool {
	v, ok := s.Attrs[name]
	if !ok || v.IsNull() {
		return false
	}
	v, _ = v.Unmark()
	return v.True()
}

// Given reports whether an attribute has a value, including its default.
func (s State) Given(name string) bool {
	v, ok := s.Attrs[name]
	return ok && !v.IsNull()
}

// Strings returns a list or set of strings, or nil for null.
func (s State) Strings(name string) []string {
	v, ok := s.Attrs[name]
	if !ok || v.IsNull() {
		return nil
	}
	v, _ = v.Unmark()
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, e.AsString())
	}
	return out
}

// AttrRange returns the position of an attribute, or of the state if the attribute is not given.
func (s State) AttrRange(name string) diag.Range {
	if r, ok := s.AttrRanges[name]; ok {
		return r
	}
	return s.Range
}
