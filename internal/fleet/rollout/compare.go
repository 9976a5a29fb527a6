package rollout

import (
	"fmt"
	"slices"
)

// certain is the largest probability of a false alarm of one comparison.
const certain = 0.01

// Compare returns the verdict of a comparison: of the values of targets that have the change, and of targets that do
// not have it yet. It fails if the values with the change are worse than permitted, with a confidence of 99 %. None
// means that there are too few values. why is the evidence.
func (g Gate) Compare(with, without []float64) (v Verdict, why string) {
	if len(with) < g.MinSample || len(without) < g.MinSample || min(len(with), len(without)) == 0 {
		return None, fmt.Sprintf("%d targets with the change and %d without it have a value, and %d of each must",
			len(with), len(without), max(1, g.MinSample))
	}
	if rarest(len(with), len(without)) > certain {
		return None, fmt.Sprintf("%d targets with the change and %d without it are too few to show a difference",
			len(with), len(without))
	}
	worst := make([]float64, len(without))
	for i, value := range without {
		worst[i] = g.permitted(value)
	}
	p := larger(with, worst)
	if g.Lower {
		p = larger(worst, with)
	}
	text := fmt.Sprintf("the median is %.4g on %d targets with the change, and %.4g on %d without it (p = %.2g)",
		median(with), len(with), median(without), len(without), p)
	if p > certain {
		return Pass, text
	}
	return Fail, "worse than permitted: " + text
}

// permitted returns the worst value that is permitted for a target that would have a value without the change.
func (g Gate) permitted(value float64) float64 {
	ratio := max(1, g.MaxRatio)
	if (value >= 0) == g.Lower {
		ratio = 1 / ratio
	}
	if g.Lower {
		return value*ratio - g.Margin
	}
	return value*ratio + g.Margin
}

// Sides returns the members to compare at a gate of the current wave: with are ready with the change, and without are
// members of later waves, which do not have it yet.
func (r *Rollout) Sides() (with, without []ID) {
	for id, m := range r.Members {
		switch {
		case m.State == MemberReady:
			with = append(with, id)
		case m.Wave > r.Wave && m.untouched():
			without = append(without, id)
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	return with, without
}

// Void reports whether a gate of a wave has no meaning: a comparison without a target in a later wave, or without a
// target in the waves so far. It does not delay the rollout.
func (r *Rollout) Void(wave int, g Gate) bool {
	if g.Type != CompareGate {
		return false
	}
	so, later := 0, 0
	for i := range r.Plan.Waves {
		if i <= wave {
			so += r.size(i)
		} else {
			later += r.size(i)
		}
	}
	return so == 0 || later == 0
}
