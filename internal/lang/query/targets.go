package query

import (
	"slices"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Targets returns the targets in the order of declaration, or the implicit target if the repository
// declares none. The list is nil if a target has an error.
func Targets(p *source.Program) ([]Target, diag.List) {
	r := &syntax.Reports{}
	w := newWays(p, r)
	if !p.HasTargets() {
		w.nowhere()
	}
	out, shared := []Target{}, map[string]*used{}
	local := Target{Name: LocalTarget, Labels: map[string]string{}, Strategy: strategyOf(p, r, nil),
		Windows: windowsOf(p, r, nil)}
	for _, t := range p.Targets {
		x := Target{Name: t.Name, Range: t.Range, Labels: TargetLabels(p, r, t), Enrolled: t.Enrolled != nil,
			Declared: t.Enrolled == nil || t.Enrolled.Declared, Element: elementOf(t.Each)}
		conflict := &syntax.Reports{}
		levels := levelsBy(p, r, conflict, t, x.Labels)
		in := EnvironmentOf(p, t, x.Labels)
		if in != nil {
			x.Environment = in.Name
		}
		for _, l := range levels {
			switch l.Kind {
			case "role":
				x.Roles = append(x.Roles, l.Name)
			case "target_group":
				x.Groups = append(x.Groups, l.Name)
			}
		}
		u := usedBy(p, r, levels, shared)
		x.Modules, x.Uses, x.Errors = u.directories(), u.uses, u.errors
		if declared(t) {
			r.Add(conflict.List...)
		} else {
			x.Errors = append(slices.Clip(x.Errors), errorsOf(p, conflict.List)...)
		}
		x.SSH, x.Strategy, x.Windows = w.of(x, in, levels), strategyOf(p, r, levels), windowsOf(p, r, levels)
		out = append(out, x)
	}
	switch {
	case r.List.HasErrors():
		out = nil
	case !p.HasTargets():
		out = append(out, local)
	}
	return out, source.Finish(p, r.List)
}
