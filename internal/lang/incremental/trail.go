package incremental

import (
	"fettle.dev/fettle/internal/lang/eval"
)

// trail is the observer of a target that is a model for others. It records all reads of the target
// itself, and the results that depend on them. Everything other than that is the same for every target
// with the same roles, groups and modules.
type trail struct {
	own     map[*eval.Scope]map[string]bool // variables of a module that depend on the target
	given   map[string]bool                 // names that the target itself sets
	touched int                             // number of reads of the target
	memos   []*eval.Memo                    // values that depend on it
	units   []eval.Unit                     // decisions and scopes, in the order in which they were made
	links   map[[2]*eval.Scope]bool         // modules that refer to each other
	again   bool                            // the evaluation is repeated for another target
	broken  bool                            // the evaluation cannot be repeated for another target
}

// Mark implements Observer.
func (t *trail) Mark() int { return t.touched }

// Read implements Observer.
func (t *trail) Read(r eval.Reading) {
	switch {
	case r.Foreign:
		t.broken = true // the values can differ between targets
	case r.Module != nil:
		t.links[[2]*eval.Scope{r.Scope.Module(), r.Module}] = true
	case r.Scope != nil:
		t.readVariable(r.Scope, r.Variable)
	default:
		t.touched++
	}
}

// readVariable records the use of a variable, or of all variables if name is "".
func (t *trail) readVariable(s *eval.Scope, name string) {
	switch {
	case s.Call != nil:
		for n, m := range s.Call.Values {
			if (name == "" || n == name) && m.Own {
				t.touched++
			}
		}
	case name == "" && len(t.own[s]) > 0 || t.own[s][name]:
		t.touched++
	}
}

// Made implements Observer.
func (t *trail) Made(o eval.Outcome, mark int) {
	since := t.touched > mark
	switch {
	case o.Memo != nil:
		if since {
			t.madeMemo(o.Memo)
		}
	case o.Scope != nil:
		if since || t.given[o.Variable] {
			t.madeVariable(o.Scope, o.Variable)
		}
	case o.Unshared:
		t.broken = t.broken || since
	case since && !t.again:
		t.units = append(t.units, o.Unit)
	}
}

// madeMemo records a value that depends on the target. When it is evaluated again for another target,
// it cannot gain dependencies.
func (t *trail) madeMemo(m *eval.Memo) {
	if m.Own {
		return
	}
	t.broken = t.broken || t.again
	m.Own = true
	t.memos = append(t.memos, m)
}

func (t *trail) madeVariable(s *eval.Scope, name string) {
	if t.own[s] == nil {
		t.own[s] = map[string]bool{}
	}
	t.own[s][name] = true
}
