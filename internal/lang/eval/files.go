package eval

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// filesOf returns the directory that a state reads: the directory of its scope, or of the module
// that passed the file name.
func filesOf(ev *Evaluator, st *State) *source.Directory {
	for _, a := range st.kind.Attrs {
		if given := st.decl.Attributes[a.Name]; a.File && given != nil {
			if f := fileFrom(ev, st.Scope, given.Expr); f != nil {
				return f
			}
		}
	}
	return st.Scope.Directory
}

// fileFrom returns the directory of the file that an expression names through a variable with file
// = true; nil if there is no such variable.
func fileFrom(ev *Evaluator, s *Scope, e hclsyntax.Expression) *source.Directory {
	if s.Call == nil {
		return nil
	}
	for _, t := range e.Variables() {
		name, ok := syntax.StepName(t, 1)
		if !ok || t.RootName() != "var" || s.body.Vars[name] == nil || !s.body.Vars[name].File {
			continue
		}
		caller := s.Call.State
		given := caller.decl.Attributes[name]
		switch {
		case given != nil:
			if f := fileFrom(ev, caller.Scope, given.Expr); f != nil {
				return f
			}
			return caller.Scope.Directory
		case name == caller.kind.Main:
			return caller.Scope.Directory
		}
	}
	return nil
}
