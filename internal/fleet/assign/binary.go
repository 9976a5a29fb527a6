package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang"
)

// BinarySetting says which program some targets are to be.
type BinarySetting struct {
	Key string `json:"key"`
	At  int64  `json:"at"` // ns since 1970; of two about the same target the later counts
	By  string `json:"by,omitempty"`
	// Select is a selection as -t takes it, of names and labels. It is asked again and
	// again: who joins later and fits is meant too.
	Select []string `json:"select,omitempty"`
	// Targets are those that it meant at first: they are meant while the selection cannot
	// be read any more, because somebody whom it names has gone.
	Targets []fleet.TargetID `json:"targets"`
	Binary  fleet.Binary     `json:"program"`
}

// binaries find out who is to be which program.
func (c *computing) binaries() {
	if len(c.in.Binaries) == 0 {
		return
	}
	inventory, ids := c.inventory()
	all := slices.Clone(c.in.Binaries)
	slices.SortFunc(all, func(a, b BinarySetting) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key)) })
	c.binaryOf = map[fleet.TargetID]*fleet.Binary{}
	for i := range all {
		for _, id := range all[i].meant(inventory, ids) {
			c.binaryOf[id] = &all[i].Binary
		}
	}
}

func (c *computing) inventory() ([]lang.Target, map[string]fleet.TargetID) {
	var list []lang.Target
	ids := map[string]fleet.TargetID{}
	for _, d := range c.all {
		if d.target.Standing == fleet.Active {
			list = append(list, lang.Target{Name: d.target.Name, Labels: d.target.Labels})
			ids[d.target.Name] = d.target.ID
		}
	}
	return list, ids
}

func (p BinarySetting) meant(inventory []lang.Target, ids map[string]fleet.TargetID) []fleet.TargetID {
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
