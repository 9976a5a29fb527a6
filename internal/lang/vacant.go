package lang

import "fettle.dev/fettle/internal/diag"

// Vacant is an example of a target for each target group that selects by label alone and
// has none, in the order of their declaration: machines that will be enrolled, and that
// nobody declares. Its group
// alone is named in it. It has the name of the group, or a- before that where a target has
// it, and the first of the values of each label. Where targets are enrolled with these
// names and labels, each group has one. The list is nil where a label has a mistake.
func (p *Program) Vacant() ([]Target, diag.List) {
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

// example is labels that the group selects.
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
