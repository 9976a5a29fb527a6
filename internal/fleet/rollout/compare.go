package rollout

import (
	"fmt"
	"math"
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

// larger returns the probability of so large values a, relative to the values b, if a and b have the same
// distribution. A small result shows that a is larger. It is the one-sided test of H. B. Mann and
// D. R. Whitney (On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other, Annals of
// Mathematical Statistics 18, 1947). The test uses only the ranks of values, so it needs no normal distribution, and an
// outlier has little effect. Equal values have the mean of their ranks. Small samples are computed exactly, others with
// the normal approximation, a correction for equal values and a correction for continuity. Neither side may be empty.
func larger(a, b []float64) float64 {
	ranks, ties := doubledRanks(a, b)
	sum, all := 0, 0
	for i, r := range ranks {
		if all += r; i < len(a) {
			sum += r
		}
	}
	switch n, k := len(ranks), min(len(a), len(b)); {
	case n*k > exactSize:
		return approximate(len(a), len(b), float64(sum)/2, ties)
	case len(a) == k:
		return exact(ranks, k, func(s int) bool { return s >= sum })
	default: // the ranks of b are then at most the rest
		return exact(ranks, k, func(s int) bool { return s <= all-sum })
	}
}

// exactSize limits the exact computation: the number of values multiplied by the number of values on the smaller side.
const exactSize = 2000

// doubledRanks returns twice the rank of each value, a before b. ties is the sum of t³-t for t equal values.
func doubledRanks(a, b []float64) (ranks []int, ties float64) {
	all := slices.Concat(a, b)
	order := slices.Sorted(slices.Values(all))
	ranks = make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(order, v)
		last := first
		for last+1 < len(order) && order[last+1] == v {
			last++
		}
		ranks[i] = first + last + 2
		t := float64(last - first + 1)
		ties += t*t - 1 // t values add this
	}
	return ranks, ties
}

// exact returns the part of the selections of k ranks whose sum is extreme.
func exact(ranks []int, k int, extreme func(sum int) bool) float64 {
	most := 2 * k * len(ranks)
	ways := make([][]float64, k+1) // by size of the selection and sum
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for size := k; size > 0; size-- {
			for sum := most; sum >= r; sum-- {
				ways[size][sum] += ways[size-1][sum-r]
			}
		}
	}
	var all, found float64
	for sum, n := range ways[k] {
		if all += n; extreme(sum) {
			found += n
		}
	}
	return found / all
}

// approximate returns the same as exact for the sum of the ranks of n of n+m values.
func approximate(n, m int, sum, ties float64) float64 {
	a, b, all := float64(n), float64(m), float64(n+m)
	variance := a * b / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	z := (sum - a*(all+1)/2 - 0.5) / math.Sqrt(variance)
	return math.Erfc(z/math.Sqrt2) / 2
}

// rarest returns the smallest possible result of larger for samples without equal values.
func rarest(n, m int) float64 {
	p := 1.0
	for i := range min(n, m) {
		p *= float64(i+1) / float64(n+m-i)
	}
	return p
}

// median returns the median of values, of which there is at least one.
func median(all []float64) float64 {
	order := slices.Sorted(slices.Values(all))
	n := len(order)
	return (order[(n-1)/2] + order[n/2]) / 2
}
