package rollout

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Definition is the stored form of a strategy.
type Definition struct {
	Strategy Strategy      `json:"strategy"`
	Waves    []DefinedWave `json:"waves"` // what Strategy.Waves does not store, in the same order
}

// DefinedWave contains the selected targets and the gates of a wave.
type DefinedWave struct {
	All      bool   `json:"all,omitempty"` // no selection
	Selected []ID   `json:"selected,omitempty"`
	Gates    []Gate `json:"gates,omitempty"`
}

// define returns the stored form of a strategy.
func define(s Strategy) Definition {
	out := Definition{Strategy: s, Waves: []DefinedWave{}}
	out.Strategy.Waves = slices.Clone(s.Waves)
	for i, w := range s.Waves {
		out.Waves = append(out.Waves, DefinedWave{All: w.Selected == nil,
			Selected: slices.Sorted(maps.Keys(w.Selected)), Gates: w.Gates})
		out.Strategy.Waves[i].Selected, out.Strategy.Waves[i].Gates = nil, nil
	}
	return out
}

// strategy is the inverse of define.
func (d Definition) strategy() Strategy {
	s := d.Strategy
	s.Waves = slices.Clone(s.Waves)
	for i, w := range d.Waves[:min(len(d.Waves), len(s.Waves))] {
		s.Waves[i].Gates = w.Gates
		if w.All {
			continue
		}
		s.Waves[i].Selected = make(map[ID]bool, len(w.Selected))
		for _, id := range w.Selected {
			s.Waves[i].Selected[id] = true
		}
	}
	return s
}

// Parts returns the number of targets in the definition.
func (d *Definition) Parts() (n int) {
	if d == nil {
		return 0
	}
	for _, w := range d.Waves {
		n += len(w.Selected)
	}
	return n
}

func (d Definition) same(o Definition) bool {
	a, errA := json.Marshal(d)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
