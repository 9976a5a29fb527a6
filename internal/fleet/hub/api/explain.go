package api

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// moduleName matches valid names of modules, also of modules that do not exist.
var moduleName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
})

// explain combines the decision of the hub with the state of the target.
func (c *call) explain() (any, error) {
	if !moduleName().MatchString(c.path["module"]) {
		return nil, fail(http.StatusNotFound, "There is no such module", fmt.Sprintf("cannot explain %.80q: there is no module with this name", c.path["module"]), "List them: fettle module list --fleet")
	}
	d, err := c.h.Backend.Target(c.r.Context(), c.path["target"], c.h.Now())
	if err != nil {
		return nil, err
	}
	because, err := c.h.Backend.Because(c.r.Context(), d.Target.ID, Directory(c.path["module"]))
	if err != nil {
		return nil, err
	}
	e := explanation(d, Directory(c.path["module"]))
	e.Reasons = append(e.Reasons, because...)
	return e, nil
}

// explanation returns the part of the explanation that is in the read model.
func explanation(d document.TargetDetail, module string) document.Explanation {
	e := document.Explanation{Format: document.ExplanationFormat, ID: d.Target.ID, Name: d.Target.Name, Module: module,
		Needs: []document.Needed{}, NeededBy: []document.Needed{}, Reasons: []string{}}
	states := map[string]fleet.Readiness{}
	for _, m := range d.Modules {
		states[m.Module] = m.State
	}
	for _, m := range d.Modules {
		for _, n := range m.Needs {
			switch module {
			case m.Module:
				e.Needs = append(e.Needs, document.Needed{Module: n.Module, Level: n.Level, Layer: n.Layer, State: states[n.Module]})
			case n.Module:
				e.NeededBy = append(e.NeededBy, document.Needed{Module: m.Module, Level: n.Level, Layer: n.Layer, State: m.State})
			}
		}
		if m.Module == module {
			e.State, e.Since, e.Assigned, e.Applied, e.Behind, e.Waits, e.Error = m.State, m.Since, m.Assigned, m.Applied, m.Behind, m.Waits, m.Error
		}
	}
	return e
}
