package history

import (
	"math"
	"sort"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// runTimes are the run times of the runs that ended in a time span, as a histogram. Its bounds are fixed, so the
// histograms of several time spans or hubs can be added.
//
// Bucket 0 has run times of at most 10 ms. Each next bucket ends at a bound that is larger by the factor 2^(1/4), about
// 1.19, until fleet.MaxRunTime. A quantile is the upper bound of its bucket, so it is at most 19 % too high.
type runTimes struct {
	Counts  [][2]uint32   `json:"counts,omitempty"` // buckets in rising order, with the number of their runs
	Longest time.Duration `json:"longest_ns,omitempty"`
}

const (
	firstBound = 10 * time.Millisecond
	perDouble  = 4   // buckets until the bound is twice as large
	lastBucket = 112 // its bound is above fleet.MaxRunTime
)

// bound returns the upper bound of a bucket.
func bound(bucket int) time.Duration {
	return time.Duration(float64(firstBound) * math.Exp2(float64(bucket)/perDouble))
}

// valid reports whether a histogram from a file is possible.
func (r *runTimes) valid() bool {
	for i, each := range r.Counts {
		if each[0] > lastBucket || each[1] == 0 || i > 0 && each[0] <= r.Counts[i-1][0] {
			return false
		}
	}
	return r.Longest >= 0 && r.Longest <= fleet.MaxRunTime
}

// runCounter counts runs.
type runCounter struct {
	counts  [lastBucket + 1]uint64 // by bucket
	longest time.Duration
}

// count counts one run.
func (c *runCounter) count(d time.Duration) {
	c.counts[sort.Search(lastBucket, func(bucket int) bool { return d <= bound(bucket) })]++
	c.longest = max(c.longest, d)
}

// add adds the runs of a valid histogram.
func (c *runCounter) add(r *runTimes) {
	for _, each := range r.Counts {
		c.counts[each[0]] += uint64(each[1])
	}
	c.longest = max(c.longest, r.Longest)
}

// times returns the histogram.
func (c *runCounter) times() *runTimes {
	r := &runTimes{Longest: c.longest}
	for bucket, n := range c.counts {
		if n > 0 {
			r.Counts = append(r.Counts, [2]uint32{uint32(bucket), uint32(min(n, math.MaxUint32))})
		}
	}
	return r
}

// runs returns the number of runs.
func (c *runCounter) runs() (n uint64) {
	for _, each := range c.counts {
		n += each
	}
	return n
}

// quantile returns a time that the given part of the runs did not exceed, in seconds; NaN without runs.
func (c *runCounter) quantile(part float64) float64 {
	rank, seen := part*float64(c.runs()), uint64(0)
	for bucket, n := range c.counts {
		if seen += n; n > 0 && float64(seen) >= rank {
			return min(bound(bucket), c.longest).Seconds()
		}
	}
	return math.NaN()
}
