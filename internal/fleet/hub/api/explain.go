package api

import (
	"fmt"
	"net/http"
	"regexp"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// moduleName is what a module can be called: also one that nobody has can be asked for.
var moduleName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
})

// explain puts what a hub decided beside what the target made of it.
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

// explanation is what the read model knows of a module on a target.
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
