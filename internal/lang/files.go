package lang

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A defined kind reads files of the module that defines it. A variable of the kind with file = true
// names a file of the module that uses the kind.

// fileVariable reads file = true.
func (ps *parser) fileVariable(e hclsyntax.Expression) bool {
	v, hds := e.Value(nil)
	if hds.HasErrors() || v.IsNull() || v.Type() != cty.Bool || !v.IsKnown() {
		ps.errorf(rangeOf(e.Range()), "Wrong type", "file must be true or false.")
		return false
	}
	if ps.in == nil && v.True() {
		ps.errorf(rangeOf(e.Range()), "Attribute file outside of a define",
			"Only a variable of a defined kind can have file = true: its value names a file of the module that uses the kind. Remove file here.")
	}
	return v.True()
}

// filesOf returns the directory that a state reads: the directory of its scope, or of the module
// that passed the file name.
func (ev *evaluator) filesOf(st *state) *directory {
	for _, a := range st.kind.Attrs {
		if given := st.decl.attrs[a.Name]; a.File && given != nil {
			if f := ev.fileFrom(st.scope, given.Expr); f != nil {
				return f
			}
		}
	}
	return st.scope.directory
}

// fileFrom returns the directory of the file that an expression names through a variable with file
// = true; nil if there is no such variable.
func (ev *evaluator) fileFrom(s *scope, e hclsyntax.Expression) *directory {
	if s.call == nil {
		return nil
	}
	for _, t := range e.Variables() {
		name, ok := stepName(t, 1)
		if !ok || t.RootName() != "var" || s.body.vars[name] == nil || !s.body.vars[name].file {
			continue
		}
		caller := s.call.st
		given := caller.decl.attrs[name]
		switch {
		case given != nil:
			if f := ev.fileFrom(caller.scope, given.Expr); f != nil {
				return f
			}
			return caller.scope.directory
		case name == caller.kind.Main:
			return caller.scope.directory
		}
	}
	return nil
}
