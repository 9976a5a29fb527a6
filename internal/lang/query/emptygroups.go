package query

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// EmptyGroups returns an example of a target for each target group that selects only by label and is
// empty. Such groups are for hosts that will be enrolled and that no target block declares. The
// examples are in the order of declaration. Each names only its group. Its name is the name of the
// group, with the prefix a- if a target has that name. Its labels have the first of their accepted
// values. If targets with these names and labels are enrolled, no group is empty. The list is nil
// if a label has an error.
func EmptyGroups(p *source.Program) ([]Target, diag.List) {
	r := &syntax.Reports{}
	taken, labels := map[string]bool{}, make([]map[string]string, len(p.Targets))
	for i, t := range p.Targets {
		taken[t.Name], labels[i] = true, TargetLabels(p, r, t)
	}
	var out []Target
	for _, g := range p.Groups {
		vacant := g.Names == nil
		for i, t := range p.Targets {
			vacant = vacant && !g.Matches(t.Name, labels[i])
		}
		if !vacant {
			continue
		}
		x := Target{Name: g.Name, Labels: example(g), Groups: []string{g.Name}, Range: g.Range, Enrolled: true}
		if taken[x.Name] {
			x.Name = "a-" + x.Name
		}
		taken[x.Name] = true
		out = append(out, x)
	}
	if r.List.HasErrors() {
		out = nil
	}
	return out, source.Finish(p, r.List)
}

// example returns labels that the group selects.
func example(g *source.Group) map[string]string {
	out := map[string]string{}
	for k, values := range g.Labels {
		if len(values) > 0 {
			out[k] = values[0]
		}
		if out[k] == "*" {
			out[k] = "any"
		}
	}
	return out
}
