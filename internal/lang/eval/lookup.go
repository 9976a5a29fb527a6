package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// lookupRef adds lookup.NAME to the tree. A lookup is visible in the directory that declares it.
func lookupRef(ev *Evaluator, s *Scope, t hcl.Traversal, tree *names) bool {
	f := s.body.Directory
	name, ok := syntax.StepName(t, 1)
	l := f.Lookups[name]
	if !ok || l == nil {
		ev.Errorf(syntax.RangeOf(t.SourceRange()), "Unknown lookup",
			`There is no lookup %q in %s.%s Declare it: lookup %q { url = "https://…" }.`, name, f.Name(),
			syntax.Suggest(name, syntax.Names(f.Lookups)), name)
		return false
	}
	ok = l.Read(f)
	f.Use(l.Snapshot())
	if ev.Add(l.Errors...); !ok {
		return false
	}
	tree.set([]string{"lookup", name}, l.Value)
	return true
}

// snapshotsOf names the snapshots that an expression reads, for explain.
func snapshotsOf(f *source.Directory, e hclsyntax.Expression) string {
	text := ""
	for _, t := range e.Variables() {
		if name, ok := syntax.StepName(t, 1); ok && t.RootName() == "lookup" && f.Lookups[name] != nil {
			text += ", snapshot " + f.Lookups[name].Snapshot()
		}
	}
	return text
}
