package query

import (
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Choose returns the named target, or the only one if the name is "".
func Choose(p *source.Program, name string) (*source.Target, diag.List) {
	switch {
	case !p.HasTargets() && (name == "" || name == LocalTarget):
		return &source.Target{Level: source.Level{Kind: "target", Name: LocalTarget}}, nil
	case len(p.Targets) == 1 && name == "":
		return p.Targets[0], nil
	}
	var names []string
	for _, t := range p.Targets {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if name == "" {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Target needed",
			"The repository declares several targets. Select one with -t: %s.", strings.Join(names, ", "))}
	}
	if !p.HasTargets() {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown target",
			"The repository declares no targets, so the only one is %q. Declare target %q { … } in fettle.hcl.", LocalTarget,
			name)}
	}
	return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown target", "The repository declares no target %q.%s", name,
		syntax.Suggest(name, names))}
}
