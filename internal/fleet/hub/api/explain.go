package api

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// moduleName matches valid names of modules, also of modules that do not exist.
var moduleName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
})

// Assignments explain the configuration of targets.
type Assignments interface {
	// Because returns the reasons for a module on a target, one sentence per element.
	Because(ctx context.Context, id fleet.TargetID, module string) ([]string, error)
}

// HandleAssignments registers the handler of explanations.
func HandleAssignments(t *Table, b Assignments, locks Locks) {
	Handle(t, route.Explain(),
		func(ctx context.Context, c Caller, at route.TargetModule, _ route.None) (document.Explanation, error) {
			e, err := t.explain(ctx, c, at, b)
			if err == nil && fleet.BoundaryOf(ctx).All() {
				e.LockWaits, err = lockWaits(ctx, locks, e.ID)
			}
			return e, err
		})
}

// lockWaits returns the locks for whose slots a target waits.
func lockWaits(ctx context.Context, b Locks, id fleet.TargetID) ([]document.LockWait, error) {
	out := []document.LockWait{}
	all, err := b.Locks(ctx)
	lost := func(h document.LockHolder) bool { return h.State == document.SlotLost }
	for _, l := range all.Locks {
		i := slices.IndexFunc(l.Waiting, func(w document.LockWaiter) bool { return w.Target == id })
		if i >= 0 {
			out = append(out, document.LockWait{Lock: l.Name, Since: l.Waiting[i].Since,
				Holders: slices.DeleteFunc(l.Holders, lost)})
		}
	}
	return out, err
}

// explain combines the decision of the hub with the state of the target.
func (t *Table) explain(ctx context.Context, c Caller, at route.TargetModule,
	b Assignments) (document.Explanation, error) {
	var none document.Explanation
	if !moduleName().MatchString(at.Module) {
		return none, fail(http.StatusNotFound, "There is no such module",
			fmt.Sprintf("cannot explain %.80q: there is no module with this name", at.Module),
			"List them: fettle module list --fleet")
	}
	d, err := t.find(ctx, c, at.Target)
	if err != nil {
		return none, err
	}
	e := explanation(d, Directory(at.Module))
	if !fleet.BoundaryOf(ctx).All() {
		return e, nil // the reasons and the locks can name other targets
	}
	because, err := b.Because(ctx, d.Target.ID, Directory(at.Module))
	if err != nil {
		return none, err
	}
	e.Reasons = append(e.Reasons, because...)
	return e, nil
}

// explanation returns the part of the explanation that is in the read model.
func explanation(d document.TargetDetail, module string) document.Explanation {
	e := document.Explanation{Format: document.ExplanationFormat, ID: d.Target.ID, Name: d.Target.Name, Module: module,
		Needs: []document.Needed{}, NeededBy: []document.Needed{}, Reasons: []string{}, LockWaits: []document.LockWait{}}
	states := map[string]fleet.Readiness{}
	for _, m := range d.Modules {
		states[m.Module] = m.State
	}
	for _, m := range d.Modules {
		for _, n := range m.Needs {
			switch module {
			case m.Module:
				e.Needs = append(e.Needs, document.Needed{Module: n.Module, Level: n.Level, Layer: n.Layer,
					State: states[n.Module]})
			case n.Module:
				e.NeededBy = append(e.NeededBy, document.Needed{Module: m.Module, Level: n.Level, Layer: n.Layer, State: m.State})
			}
		}
		if m.Module == module {
			e.State, e.Since, e.Assigned, e.Applied = m.State, m.Since, m.Assigned, m.Applied
			e.Behind, e.Waits, e.Error = m.Behind, m.Waits, m.Error
		}
	}
	return e
}
