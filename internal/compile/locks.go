package compile

import "fettle.dev/fettle/internal/step"

// locked returns a step with the locks of the states that request it, and of the groups around them. A step that
// changes nothing needs none.
func (b *builder) locked(s step.Step, nodes []int) step.Step {
	if s.Verb == step.Wait || s.Verb == step.Check {
		return s
	}
	var names []string
	for _, n := range nodes {
		for ; n >= 0; n = b.c.Nodes[n].Parent {
			names = append(names, b.c.Nodes[n].Locks...)
		}
	}
	if len(names) == 0 {
		return s
	}
	return s.WithLocks(names)
}
