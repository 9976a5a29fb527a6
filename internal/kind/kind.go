// Package kind holds what a kind of state is: a schema and a pure function
// from an evaluated state to steps. Built-in kinds live one a directory below;
// stdlib holds kinds that are written in the language.
//
//	var Link = kind.Kind{
//		Name: "link", Main: "path",
//		Attrs: []kind.Attr{{Name: "path", Type: cty.String}, {Name: "target", Type: cty.String, Required: true}},
//		Steps: func(s kind.State) (kind.Output, diag.List) { … },
//	}
//
// A kind never looks at a machine, a clock or the network: the same state gives
// the same steps anywhere.
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
	Doc  string // what it is for, one or more sentences, with an example
	// Main is the attribute that the label stands for when it is not given.
	Main string
	// Free tells that Main is a name in the list alone, not of something on the
	// machine: modules of others may use the same one.
	Free  bool
	Attrs []Attr
	// Outputs are the values that a kind written in the language gives to those
	// who use it, besides its attributes: their names and docs.
	Outputs []Attr
	// Actions are the lazy things that can be notified: service.nginx.reload.
	Actions []Action
	// Steps turns one evaluated state into steps, in the order in which they
	// must run. Every attribute of the schema is present in s, null when it
	// is optional and was not given.
	Steps func(s State) (Output, diag.List)
	// Result names the command whose output is the computed attribute of s, of which
	// no attribute is unknown. nil for a kind without one.
	Result func(s State) (addr.Addr, diag.List)
	// Expand gives the configuration that a state stands for in place of steps,
	// nil when it comes to steps after all. Most kinds have none.
	Expand func(s State) (*Expansion, diag.List)
}

// Expansion is states in the language's JSON form, in a file of the repository.
type Expansion struct {
	File string // its path in the repository, for places
	Text []byte
}

// Attr is one attribute of a kind.
type Attr struct {
	Name     string
	Type     cty.Type
	Required bool
	Default  cty.Value // cty.NilVal: null
	OneOf    []string  // for strings: the only values
	Doc      string
	// File tells that it names a file or directory of the module.
	File bool
	// Computed is an attribute that nobody gives: references read it, and only a run
	// knows it.
	Computed bool
	// Check is an additional rule; its error is shown as a full sentence.
	Check func(cty.Value) error
	// Secret tells that the value may come of a secret, and be marked: the kind
	// seals what it makes of it. Neither OneOf nor Check see such a value.
	Secret bool
}

// Action is a lazy action of a kind.
type Action struct {
	Name string
	Doc  string
	// Act makes the ACT step without its on= attributes, which the compiler adds.
	Act func(s State) (step.Step, diag.List)
}

// State is one evaluated state.
type State struct {
	// ID is how it is referred to: file.site-conf, with the module's path in
	// front inside messages, and ["key"] behind for for_each.
	ID    string
	Kind  string
	Label string
	Attrs map[string]cty.Value
	Range diag.Range
	// AttrRanges say where each given attribute's value stands.
	AttrRanges map[string]diag.Range
	Files      Files
}

// Files is the directory of the module that declares a state. Paths are relative
// to it and never leave it.
type Files interface {
	repo.Tree
	// Template renders a template file in the language with these variables. The
	// text has the marks of the secrets in it.
	Template(path string, vars map[string]cty.Value) (cty.Value, diag.List)
	// Secret is the content of one, whose name is relative to the secrets of the
	// repository.
	Secret(name string) (Secret, error)
	// Source gives the repository path of a module path, for source maps.
	Source(path string) string
}

// Output is what a state comes to.
type Output struct {
	Steps []step.Step
	Blobs []Blob
}

// Blob is content that a COPY step names by its digest: inline, or a file of
// the repository, which is read when it is needed so that large files are never
// whole in memory.
type Blob struct {
	Digest string
	Size   int64
	Data   []byte    // inline content, or
	Tree   repo.Tree // the tree and
	Path   string    // the path in it
}

// Str is a string attribute, "" when it is null.
func (s State) Str(name string) string {
	v, ok := s.Attrs[name]
	if !ok || v.IsNull() {
		return ""
	}
	v, _ = v.Unmark()
	return v.AsString()
}

// Bool is a boolean attribute, false when it is null.
func (s State) Bool(name string) bool {
	v, ok := s.Attrs[name]
	if !ok || v.IsNull() {
		return false
	}
	v, _ = v.Unmark()
	return v.True()
}

// Given tells whether an attribute has a value, its default included.
func (s State) Given(name string) bool {
	v, ok := s.Attrs[name]
	return ok && !v.IsNull()
}

// Strings is a list or set of strings, nil when it is null.
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

// AttrRange is where an attribute stands, or the state when it was not given.
func (s State) AttrRange(name string) diag.Range {
	if r, ok := s.AttrRanges[name]; ok {
		return r
	}
	return s.Range
}
