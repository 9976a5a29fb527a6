package lang

import "github.com/zclconf/go-cty/cty"

// trail records the evaluation of a target that is a model for others: all reads of the target
// itself, and the values that depend on them. Everything other than that is the same for every
// target with the same roles, groups and modules.
type trail struct {
	own     map[*scope]map[string]bool // variables of a module that depend on the target
	given   map[string]bool            // names that the target itself sets
	touched int                        // number of reads of the target
	memos   []*memo                    // values that depend on it
	units   []unit                     // decisions and scopes, in the order in which they were made
	links   map[[2]*scope]bool         // modules that refer to each other
	again   bool                       // the evaluation is repeated for another target
	broken  bool                       // the evaluation cannot be repeated for another target
}

// unit is a decision, not a value, that can depend on the target: whether a state exists, its
// for_each, or the inside of an invocation.
type unit struct {
	st    *state
	each  map[string]cty.Value
	on    bool
	every *memo // of a for_each
	value cty.Value
	inner *scope
}

// touch records that a property of the target itself was read.
func (ev *evaluator) touch() {
	if ev.trail != nil {
		ev.trail.touched++
	}
}

// mark returns the number of reads so far; since reports whether there were more after that.
func (ev *evaluator) mark() int {
	if ev.trail == nil {
		return 0
	}
	return ev.trail.touched
}

func (ev *evaluator) since(mark int) bool { return ev.mark() > mark }

// readMemo records the use of a value that is already evaluated.
func (ev *evaluator) readMemo(m *memo) {
	if m.own {
		ev.touch()
	}
}

// madeMemo records whether a value depends on the target. When it is evaluated again for another
// target, it cannot gain dependencies.
func (ev *evaluator) madeMemo(m *memo, mark int) {
	t := ev.trail
	if t == nil || !ev.since(mark) || m.own {
		return
	}
	t.broken = t.broken || t.again
	m.own = true
	t.memos = append(t.memos, m)
}

// readVar records the use of a variable, or of all variables if name is "".
func (ev *evaluator) readVar(s *scope, name string) {
	t := ev.trail
	switch {
	case t == nil:
	case s.call != nil:
		for n, m := range s.call.vals {
			if (name == "" || n == name) && m.own {
				ev.touch()
			}
		}
	case name == "" && len(t.own[s]) > 0 || t.own[s][name]:
		ev.touch()
	}
}

// madeVar records that a variable of a module got a value.
func (ev *evaluator) madeVar(s *scope, name string, mark int) {
	t := ev.trail
	if t == nil || !t.given[name] && !ev.since(mark) {
		return
	}
	if t.own[s] == nil {
		t.own[s] = map[string]bool{}
	}
	t.own[s][name] = true
}

// decided records a decision that depends on the target.
func (ev *evaluator) decided(u unit, mark int) {
	if t := ev.trail; t != nil && !t.again && ev.since(mark) {
		t.units = append(t.units, u)
	}
}

// unshared records that the reads since the mark cannot be repeated.
func (ev *evaluator) unshared(mark int) {
	if ev.trail != nil && ev.since(mark) {
		ev.trail.broken = true
	}
}

// linked records that a module refers to another module.
func (ev *evaluator) linked(from, to *scope) {
	if t := ev.trail; t != nil {
		t.links[[2]*scope{from.module(), to}] = true
	}
}
