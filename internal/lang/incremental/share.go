// Package incremental makes the catalogs of many targets and of two revisions. It evaluates only
// the differences.
//
//	s := incremental.Share(p)
//	web1, ds := s.Catalog(eval.Input{Target: "web1", Facts: facts})
//	web2, ds := s.Catalog(eval.Input{Target: "web2", Facts: facts})
//
// The catalogs equal the results of eval.Catalog.
package incremental

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Sharing makes the catalogs of many targets. Targets with the same roles, groups and modules
// differ only in their names and their own blocks. The first such target is evaluated as a whole;
// for the next, only the dependent parts are evaluated. If the difference is larger, the whole
// target is evaluated, so a catalog always equals the result of eval.Catalog. Sharing is not
// safe for concurrent use.
type Sharing struct {
	prog    *source.Program
	targets map[string]*source.Target
	classes map[string][]*model
	order   []string             // of the classes, the oldest first
	facts   map[string]cty.Value // of the last call
	factsID int
}

// The limits of the cache: classes, and models of one class.
const (
	maxClasses = 64
	maxModels  = 4
)

// Share returns a Sharing for the program.
func Share(p *source.Program) *Sharing {
	s := &Sharing{prog: p, targets: map[string]*source.Target{}, classes: map[string][]*model{}}
	for _, t := range p.Targets {
		s.targets[t.Name] = t
	}
	return s
}

// Catalog returns the same result as eval.Catalog. The result is shared and read-only.
func (s *Sharing) Catalog(in eval.Input) (Shared, diag.List) { return s.catalog(in, (*model).make) }

// maker returns the catalog of another target of a model's class. ok is false if more than
// attributes differs, or after an error. The whole target must then be evaluated.
type maker func(m *model, t *source.Target, levels []*source.Level, in eval.Input) (out Shared, ok bool)

func (s *Sharing) catalog(in eval.Input, make maker) (Shared, diag.List) {
	t := s.targets[in.Target]
	if t == nil || in.Test != nil || len(in.Outputs) > 0 || t.Data != nil || t.Merge != nil || t.Policy != nil ||
		t.Layer != nil || len(t.Uses) > 0 {
		c, ds := eval.Catalog(s.prog, in)
		return Shared{Catalog: c}, ds
	}
	r := &syntax.Reports{}
	levels := query.Levels(s.prog, r, t)
	key := s.class(t, levels, in)
	if len(r.List) == 0 {
		for _, m := range s.classes[key] {
			if out, ok := make(m, t, levels, in); ok {
				return out, nil
			}
		}
	}
	tr := &trail{own: map[*eval.Scope]map[string]bool{}, given: ownNames(s.prog, t), links: map[[2]*eval.Scope]bool{}}
	c, ev, ds := eval.Observe(s.prog, in, tr)
	out := Shared{Catalog: c}
	if ev != nil && len(ds) == 0 && !tr.broken && plainStates(c) {
		s.keep(key, newModel(ev, tr))
		out.Like = c
	}
	return out, ds
}

// plainStates reports whether a catalog is complete: no state waits for a run, and no program
// generated a state.
func plainStates(c *catalog.Catalog) bool {
	return len(c.Results) == 0 && !slices.ContainsFunc(c.Nodes, func(n catalog.Node) bool {
		return n.Unknown ||
			n.Kind != nil && n.Kind.Expand != nil
	})
}

func (s *Sharing) keep(key string, m *model) {
	if len(s.classes[key]) == 0 {
		s.order = append(s.order, key)
	}
	if len(s.order) > maxClasses {
		delete(s.classes, s.order[0])
		s.order = s.order[1:]
	}
	all := append(s.classes[key], m)
	s.classes[key] = all[max(0, len(all)-maxModels):]
}

// class returns a text that identifies everything a target has in common with other targets: the
// same levels below it, the same lists of modules and roles, and the same facts. Labels that select
// no group do not matter.
func (s *Sharing) class(t *source.Target, levels []*source.Level, in eval.Input) string {
	var b strings.Builder
	for _, l := range levels[:len(levels)-1] {
		fmt.Fprintf(&b, "%p ", l)
	}
	r := &syntax.Reports{}
	for _, u := range s.prog.LevelModules(r, &t.Level) {
		fmt.Fprintf(&b, "%q ", u.Name)
	}
	fmt.Fprintf(&b, "|%q|%q|", slices.Sorted(maps.Keys(ownNames(s.prog, t))), slices.Sorted(maps.Keys(in.Vars)))
	for _, name := range slices.Sorted(maps.Keys(in.Vars)) {
		fmt.Fprintf(&b, "%q ", in.Vars[name])
	}
	if !maps.EqualFunc(s.facts, in.Facts, func(a, b cty.Value) bool { return a.RawEquals(b) }) {
		s.facts, s.factsID = maps.Clone(in.Facts), s.factsID+1
	}
	fmt.Fprintf(&b, "|%d", s.factsID)
	return b.String()
}

// ownNames returns the variables that a target itself sets.
func ownNames(p *source.Program, t *source.Target) map[string]bool {
	out := map[string]bool{}
	if t.Vars == nil {
		return out
	}
	items, hds := hcl.ExprMap(t.Vars.Expr)
	if hds.HasErrors() {
		if t.Each != nil {
			values, _ := p.EarlyVars(&syntax.Reports{}, t.Vars, t.Each)
			return syntax.NameSet(values)
		}
		return out
	}
	for _, it := range items {
		if k, kds := it.Key.Value(nil); !kds.HasErrors() && k.Type() == cty.String && !k.IsNull() {
			out[k.AsString()] = true
		}
	}
	return out
}
