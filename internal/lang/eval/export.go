package eval

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// addExports evaluates the exported outputs of the target's modules.
func addExports(ev *Evaluator) {
	told := map[string]bool{}
	for _, u := range ev.uses {
		if !told[u.Directory] {
			told[u.Directory] = true
			query.ExportedOf(ev.Program, &ev.Reports, u.Directory)
		}
		s := ev.modules[u.Name]
		if s == nil || !s.Assigned {
			continue
		}
		for _, name := range syntax.SortedNames(s.body.Outputs) {
			if o := s.body.Outputs[name]; o.Exported {
				addExport(ev, u, s, name, o)
			}
		}
	}
	exported.SortOwn(ev.Catalog.Exports)
	if err := exported.CheckOwn(ev.Catalog.Exports); err != nil {
		ev.Errorf(diag.Range{}, "Too much is exported", "%s The target is %q.", syntax.Sentence(err), ev.Catalog.Target)
	}
}

// addExport evaluates one output. Values that only a run provides, and null, are not exported.
func addExport(ev *Evaluator, u *source.ModuleUse, s *Scope, name string, o *source.Output) {
	ev.observed.read(Reading{Foreign: true})
	m := ev.output(s, name)
	rng := syntax.RangeOf(o.Value.Range())
	switch {
	case !m.OK || o.Type == cty.NilType:
		return
	case m.Value.ContainsMarked():
		ev.Errorf(rng, "Secret is exported",
			"The output %q depends on a secret. Hubs and other targets can read exported values in plain text. Export a value without the secret, "+
				"such as a fingerprint.", name)
		return
	case !m.Value.IsWhollyKnown() || m.Value.IsNull():
		return
	}
	text, err := exported.ValueText(m.Value)
	if err == nil && len(text) > exported.MaxValue {
		err = fmt.Errorf("it has %d bytes, and the limit is %d", len(text), exported.MaxValue)
	}
	if err != nil {
		ev.Errorf(rng, "Value cannot be exported", "The output %q: %s", name, syntax.Sentence(err))
		return
	}
	ev.Catalog.Exports = append(ev.Catalog.Exports, exported.Own{Module: u.Directory,
		As: exported.As(u.Directory, u.Name), Output: name, Value: text})
}
