package eval

import (
	"github.com/zclconf/go-cty/cty"
)

// Observer follows an evaluation, to find the results that depend on the target itself and not only
// on its roles, groups and modules.
type Observer interface {
	// Mark returns the number of reads of the target so far.
	Mark() int
	Read(Reading)
	// Made receives a result. It depends on the target if there were reads after the mark.
	Made(o Outcome, mark int)
}

// Reading is a use of a value. The zero value is a read of the target itself, or of a value that
// depends on it.
type Reading struct {
	Scope    *Scope // the reader
	Variable string // of the scope; "": all of its variables
	Module   *Scope // a module to which the scope refers, instead of a variable
	Foreign  bool   // values of other targets, or for them
}

// Outcome is a result of an evaluation: a value, a variable of a scope, or a decision.
type Outcome struct {
	Memo     *Memo
	Scope    *Scope
	Variable string
	Unit     Unit
	Unshared bool // a part that cannot be evaluated again
}

// Unit is a decision, not a value, that can depend on the target: whether a state exists, its
// for_each, or the inside of an invocation.
type Unit struct {
	State *State
	Each  map[string]cty.Value
	On    bool
	every *Memo // of a for_each
	Value cty.Value
	Inner *Scope
}

// Module returns the scope of the module of a unit.
func (u Unit) Module() *Scope {
	if u.Inner != nil {
		return u.Inner.Module()
	}
	return u.State.Scope.Module()
}

// observed is an evaluation with or without an observer.
type observed struct{ by Observer }

func (o observed) mark() int {
	if o.by == nil {
		return 0
	}
	return o.by.Mark()
}

func (o observed) read(r Reading) {
	if o.by != nil {
		o.by.Read(r)
	}
}

func (o observed) made(out Outcome, mark int) {
	if o.by != nil {
		o.by.Made(out, mark)
	}
}
