// Package declared converts the strategies of a repository to strategies of package rollout:
//
//	s, ok := declared.Named(strategies, "web", ids)
//
// The language refers to targets by name, and rollouts by ID.
package declared

import (
	"cmp"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
)

// Named returns the strategy with a name: a declared one or a built-in one. ok is false if there is none. names
// contains the IDs of targets by name.
func Named(all []query.Strategy, name string, names map[string]fleet.TargetID) (s rollout.Strategy, ok bool) {
	for _, d := range all {
		if d.Name == name {
			return strategy(d, names), true
		}
	}
	for _, builtin := range []rollout.Strategy{rollout.AtOnce(), rollout.Careful()} {
		if builtin.Name == name {
			return builtin, true
		}
	}
	return rollout.Strategy{}, false
}

// strategy converts a strategy of the language, whose amounts are valid.
func strategy(s query.Strategy, names map[string]fleet.TargetID) rollout.Strategy {
	out := rollout.Strategy{Name: s.Name, MaxFailed: amountOf(s.MaxFailed), MaxSilent: amountOf(s.MaxSilent),
		MinReady: amountOf(s.MinReady), MinCoverage: amountOf(s.MinCoverage), MinReadyTime: s.MinReadyTime,
		ProgressDeadline: s.ProgressDeadline, SilentAfter: s.SilentAfter, WaveTimeout: s.WaveTimeout,
		OnBreach: rollout.Reaction(s.OnBreach), Rate: s.Rate}
	if s.SpreadLabel != "" {
		out.Spread = &rollout.Spread{Label: s.SpreadLabel, Max: s.SpreadMax}
	}
	for _, w := range s.Waves {
		rule := rollout.WaveRule{Name: w.Name, Size: amountOf(w.Size),
			MaxUnavailable: amountOf(w.MaxUnavailable), Bake: w.Bake, Gates: gatesOf(w.Gates)}
		if !w.All {
			rule.Selected = map[fleet.TargetID]bool{}
			for _, name := range w.Selected {
				rule.Selected[names[name]] = true
			}
		}
		out.Waves = append(out.Waves, rule)
	}
	return out
}

// amountOf reads an amount, which the language has checked. "" means none.
func amountOf(text string) rollout.Amount {
	a, err := amount.Parse(cmp.Or(text, "0"))
	if err != nil {
		return rollout.Amount{}
	}
	return a
}
