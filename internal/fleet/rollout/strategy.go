package rollout

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet"
)

// ID identifies a target.
type ID = fleet.TargetID

// sorted returns the keys of a map of targets in order.
func sorted[V any](m map[ID]V) []ID { return slices.Sorted(maps.Keys(m)) }

// sortedLanes returns the keys of a map of lanes in order.
func sortedLanes[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Amount is a number of targets, or a percentage of a group. The zero value is none.
type Amount = amount.Amount

// limit returns the amount of a group of n as a limit of speed: rounded down, and at least 1, since
// a limit of 0 would end all progress.
func limit(a Amount, n int) int { return max(1, tolerance(a, n)) }

// tolerance returns the amount of a group of n as a tolerance: rounded down.
func tolerance(a Amount, n int) int { return min(a.Of(n), n) }

// minimum returns the amount of a group of n as a minimum: rounded up.
func minimum(a Amount, n int) int {
	if a.Percent {
		return (n*a.Number + 99) / 100
	}
	return tolerance(a, n)
}

// Reaction is the consequence when a rollout exceeds its limits.
type Reaction string

// The reactions. All of them end further grants at once.
const (
	Pause    Reaction = "pause"    // an operator decides
	Abort    Reaction = "abort"    // granted targets keep the change
	Rollback Reaction = "rollback" // granted targets return to their previous content
)

// WaveRule describes one wave. A wave consists of the members that the earlier waves left.
type WaveRule struct {
	Name string `json:"name"`
	// Selected restricts the wave to these targets; nil: all. The language evaluates the selection.
	Selected map[ID]bool `json:"-"`
	// Scope are the targets of a stage; nil: all. A percentage of Size is of the members in it. Unlike a wave with
	// Selected, the wave takes other members if some are out of reach. Definitions do not store it.
	Scope map[ID]bool `json:"-"`
	// Size is the number of members; the zero value means all members that are left.
	Size Amount `json:"size"`
	// MaxUnavailable limits the members that are granted and not ready at the same time.
	MaxUnavailable Amount `json:"max_unavailable"`
	Bake           int64  `json:"bake,omitempty"` // seconds between the first success of the whole wave and the next wave
	Gates          []Gate `json:"-"`              // the waves of a rollout contain them
}

// Strategy describes how a change reaches its targets. All times are in seconds.
type Strategy struct {
	Name  string     `json:"name"`
	Waves []WaveRule `json:"waves"` // the members that no wave has are an additional last wave
	// MaxFailed and MaxSilent are tolerances over the whole rollout.
	MaxFailed Amount `json:"max_failed"`
	MaxSilent Amount `json:"max_silent"`
	// MinReady is the part of the granted members of a wave that must be ready before the next wave.
	// MinCoverage is the part of all members of a wave.
	MinReady    Amount `json:"min_ready"`
	MinCoverage Amount `json:"min_coverage"`
	// MinReadyTime is the time for which a member must be ready without interruption.
	MinReadyTime int64 `json:"min_ready_time"`
	// ProgressDeadline limits the time from the grant, or from the begin of the run, until a member is ready.
	ProgressDeadline int64 `json:"progress_deadline"`
	// SilentAfter is the time without contact after which a granted member counts as silent.
	SilentAfter int64 `json:"silent_after"`
	// WaveTimeout is the time after which members that are held do not keep a wave open any more.
	WaveTimeout int64    `json:"wave_timeout"`
	OnBreach    Reaction `json:"on_breach"`
	// Spread limits the unavailable members of each failure domain; nil: no limit.
	Spread *Spread `json:"spread,omitempty"`
	// Rate limits the grants of one minute; 0: no limit.
	Rate int `json:"rate,omitempty"`
}

// Spread is a limit for each failure domain. A domain consists of the members with the same value of a label. All
// members without the label are one domain.
type Spread struct {
	Label string `json:"label"`
	Max   int    `json:"max"` // members of a domain that may be unavailable at the same time, at least 1
}

// rateTime is the time in seconds to which Strategy.Rate refers.
const rateTime = 60

// Careful is the strategy of fleets that configure none: one target first, then a tenth, then the
// rest with at most a quarter at the same time.
func Careful() Strategy {
	return Strategy{Name: "careful", Waves: []WaveRule{
		{Name: "first", Size: Amount{Number: 1}, MaxUnavailable: Amount{Number: 1}},
		{Name: "early", Size: Amount{Number: 10, Percent: true}, MaxUnavailable: Amount{Number: 25, Percent: true}},
		{Name: "rest", MaxUnavailable: Amount{Number: 25, Percent: true}}},
		MaxFailed: Amount{}, MaxSilent: Amount{Number: 2, Percent: true},
		MinReady:     Amount{Number: 95, Percent: true},
		MinCoverage:  Amount{Number: 50, Percent: true},
		MinReadyTime: 10, ProgressDeadline: 15 * 60, SilentAfter: 5 * 60, WaveTimeout: 24 * 60 * 60, OnBreach: Rollback}
}

const atOnce = "at-once"

// AtOnce is the strategy without waves: all members are granted in the same second.
func AtOnce() Strategy {
	all := Amount{Number: 100, Percent: true}
	return Strategy{Name: atOnce, Waves: []WaveRule{{Name: "all", MaxUnavailable: all}}, MaxFailed: all, MaxSilent: all,
		ProgressDeadline: 15 * 60, SilentAfter: 5 * 60, WaveTimeout: 24 * 60 * 60, OnBreach: Pause}
}

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
