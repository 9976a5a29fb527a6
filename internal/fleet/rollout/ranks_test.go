package rollout

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLarger compares with results that are counted by hand.
func TestLarger(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{2}, []float64{1}, 0.5},
		{[]float64{6, 7, 8, 9, 10}, []float64{1, 2, 3, 4, 5}, 1.0 / 252},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 1},
		{[]float64{1, 1, 1}, []float64{1, 1, 1, 1}, 1},
		{[]float64{3, 4}, []float64{1, 2, 2}, 0.1},
		{[]float64{math.Inf(1), 1, 2}, []float64{0, 0, 0}, 0.05},
		{marks(6, 30), marks(4, 80), 0.00777373398612}, // many equal values, computed with the normal approximation
	} {
		if got := larger(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v, %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// marks returns n values, of which k are 1 and the others 0.
func marks(k, n int) []float64 {
	return append(slices.Repeat([]float64{1}, k), make([]float64, n-k)...)
}

// TestLargerIsExact: the result is the part of all selections with at least this sum of ranks, and both sides agree.
func TestLargerIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Custom(func(rt *rapid.T) float64 { return float64(rapid.IntRange(0, 6).Draw(rt, "value")) })
		a := rapid.SliceOfN(value, 1, 5).Draw(rt, "a")
		b := rapid.SliceOfN(value, 1, 6).Draw(rt, "b")
		all, n := slices.Concat(a, b), len(a)
		found, total := 0, 0
		for set := range 1 << len(all) {
			var x, y []float64
			for i, v := range all {
				if set&(1<<i) > 0 {
					x = append(x, v)
				} else {
					y = append(y, v)
				}
			}
			if len(x) == n {
				total++
				if wins(x, y) >= wins(a, b) {
					found++
				}
			}
		}
		if got, want := larger(a, b), float64(found)/float64(total); math.Abs(got-want) > 1e-9 {
			rt.Fatalf("%v, %v: %v, want %v", a, b, got, want)
		}
		if p := rarest(len(a), len(b)); p > larger(a, b)+1e-9 {
			rt.Fatalf("%v is not the smallest result", p)
		}
	})
}

// wins returns twice the statistic U: the pairs in which the value of a is larger, and half of the equal ones.
func wins(a, b []float64) (n int) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				n += 2
			case x == y:
				n++
			}
		}
	}
	return n
}

// TestLargerApproximates: the approximation agrees with the exact result for samples of medium size.
func TestLargerApproximates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Custom(func(rt *rapid.T) float64 { return float64(rapid.IntRange(0, 30).Draw(rt, "value")) })
		a := rapid.SliceOfN(value, 12, 30).Draw(rt, "a")
		b := rapid.SliceOfN(value, 12, 30).Draw(rt, "b")
		ranks, ties := doubledRanks(a, b)
		sum := 0
		for _, r := range ranks[:len(a)] {
			sum += r
		}
		if got, want := approximate(len(a), len(b), float64(sum)/2, ties), larger(a, b); math.Abs(got-want) > 0.02 {
			rt.Fatalf("%v, %v: %v, want %v", a, b, got, want)
		}
	})
}
