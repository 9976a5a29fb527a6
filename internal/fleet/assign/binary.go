package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

// binaries finds the binary of each agent.
func (c *computation) binaries() {
	if len(c.in.Binaries) == 0 {
		return
	}
	inventory, ids := c.inventory()
	all := slices.Clone(c.in.Binaries)
	slices.SortFunc(all, func(a, b BinarySetting) int {
		return cmp.Or(cmp.Compare(a.At, b.At),
			cmp.Compare(a.Key, b.Key))
	})
	c.binaryOf = map[fleet.TargetID]*fleet.Binary{}
	for i := range all {
		for _, id := range all[i].meant(inventory, ids) {
			c.binaryOf[id] = &all[i].Binary
		}
	}
}

func (c *computation) inventory() ([]query.Target, map[string]fleet.TargetID) {
	var list []query.Target
	ids := map[string]fleet.TargetID{}
	for _, d := range c.all {
		if d.target.Standing == fleet.Active {
			list = append(list, query.Target{Name: d.target.Name, Labels: d.target.Labels})
			ids[d.target.Name] = d.target.ID
		}
	}
	return list, ids
}

func (p BinarySetting) meant(inventory []query.Target, ids map[string]fleet.TargetID) []fleet.TargetID {
	s, err := selection.Parse(p.Select)
	if err != nil {
		return p.Targets
	}
	chosen, err := s.Choose(inventory, selection.Given{})
	if err != nil {
		return p.Targets
	}
	var out []fleet.TargetID
	for _, t := range chosen {
		out = append(out, ids[t.Name])
	}
	return out
}
