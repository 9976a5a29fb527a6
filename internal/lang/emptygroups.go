package lang

import "fettle.dev/fettle/internal/diag"

// EmptyGroups returns an example of a target for each target group that selects only by label and is
// empty. Such groups are for hosts that will be enrolled and that no target block declares. The
// examples are in the order of declaration. Each names only its group. Its name is the name of the
// group, with the prefix a- if a target has that name. Its labels have the first of their accepted
// values. If targets with these names and labels are enrolled, no group is empty. The list is nil
// if a label has an error.
func (p *Program) EmptyGroups() ([]Target, diag.List) {
	r := &reports{}
	taken, labels := map[string]bool{}, make([]map[string]string, len(p.targets))
	for i, t := range p.targets {
		taken[t.name], labels[i] = true, p.targetLabels(r, t)
	}
	var out []Target
	for _, g := range p.groups {
		vacant := g.names == nil
		for i, t := range p.targets {
			vacant = vacant && !g.matches(t, labels[i])
		}
		if !vacant {
			continue
		}
		x := Target{Name: g.name, Labels: g.example(), Groups: []string{g.name}, Range: g.rng, Enrolled: true}
		if taken[x.Name] {
			x.Name = "a-" + x.Name
		}
		taken[x.Name] = true
		out = append(out, x)
	}
	if r.list.HasErrors() {
		out = nil
	}
	return out, finish(p, r.list)
}

// example returns labels that the group selects.
func (g *group) example() map[string]string {
	out := map[string]string{}
	for k, values := range g.labels {
		if len(values) > 0 {
			out[k] = values[0]
		}
		if out[k] == "*" {
			out[k] = "any"
		}
	}
	return out
}
