package eval

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// moduleOf returns the module of a traversal, and the number of steps that name it: module.NAME, or
// module.NAME["KEY"] for a block with for_each. The module is nil after a diagnostic.
func moduleOf(ev *Evaluator, t hcl.Traversal) (*Scope, int) {
	rng := syntax.RangeOf(t.SourceRange())
	name, _ := syntax.StepName(t, 1)
	if m := ev.modules[name]; m != nil {
		return m, 2
	}
	var keys []string
	for _, u := range ev.madeBy(name) {
		keys = append(keys, u.Each.Key)
	}
	key, ok := syntax.StepName(t, 2)
	switch {
	case !ev.repeated[name]:
		ev.Errorf(rng, "Unknown module", "The target has no module %q.%s", name,
			syntax.Suggest(name, append(syntax.Names(ev.modules), syntax.Names(ev.repeated)...)))
		return nil, 0
	case !ok:
		ev.Errorf(rng, "Reference without a key",
			"The module block %q has for_each, and the key of a module is a string: module.%s[\"KEY\"]. To refer to all of "+
				"its modules, write module.%s.", name, name, name)
		return nil, 0
	case !slices.Contains(keys, key):
		ev.Errorf(rng, "Unknown module", "No element of for_each of the module block %q has the key %q.%s", name, key,
			syntax.Suggest(key, keys))
		return nil, 0
	}
	return ev.modules[fmt.Sprintf("%s[%q]", name, key)], 3
}

// madeBy returns the modules of a module block with for_each, in their order.
func (ev *Evaluator) madeBy(block string) (out []*source.ModuleUse) {
	for _, u := range ev.uses {
		if u.Each != nil && u.Each.Block == block {
			out = append(out, u)
		}
	}
	return out
}

// allModules returns references to all modules of a module block with for_each, by key. named is set if the traversal
// names such a block, and no single module of it.
func (ev *Evaluator) allModules(s *Scope, t hcl.Traversal) (all map[string]reference, named bool) {
	name, _ := syntax.StepName(t, 1)
	if _, one := syntax.StepName(t, 2); t.RootName() != "module" || one || !ev.repeated[name] {
		return nil, false
	}
	all = map[string]reference{}
	for _, u := range ev.madeBy(name) {
		m := ev.modules[u.Name]
		ev.observed.read(Reading{Scope: s, Module: m})
		all[u.Each.Key] = reference{scope: m, rng: syntax.RangeOf(t.SourceRange())}
	}
	return all, true
}
