package eval

import (
	"fettle.dev/fettle/internal/lang/source"
)

// orderModules orders each module after all of the modules that it needs.
func orderModules(ev *Evaluator) {
	for _, u := range ev.uses {
		for _, n := range ev.needsOf[u] {
			s, other := ev.modules[u.Name], ev.modules[n.Use.Name]
			if s == nil || other == nil || !s.Assigned || !other.Assigned {
				continue
			}
			why := "need"
			if n.Layer {
				why = "layer"
			}
			ev.pending.edges = append(ev.pending.edges, pendingEdge{node: s.node, other: reference{scope: other, rng: n.Range},
				after: true, why: why})
		}
	}
}

// alone reports whether a test is about a module without a target.
func alone(t *source.Test) bool { return t != nil && t.Target == nil }
