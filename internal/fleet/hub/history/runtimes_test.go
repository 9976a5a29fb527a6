package history

import (
	"fmt"
	"math"
	"path"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// TestRunsOfTimeSpans: each run counts once, in the sample after its end was recorded. The first sample cannot count.
// Without a run, their number is 0, and the run times are unknown. A hub that starts again continues.
func TestRunsOfTimeSpans(t *testing.T) {
	w := newWorld(t)
	w.runs = []time.Duration{time.Hour} // before the hub began to count
	w.sample(0, 3, 0)
	w.sample(Interval, 3, 0)
	w.want("runs", 1, 0)
	w.want("run_longest", 1)
	w.runs = append(w.runs, time.Second, 2*time.Second, 40*time.Second)
	w.sample(Interval, 3, 0)
	w.start()
	w.runs = append(w.runs, 3*time.Second)
	w.sample(Interval, 3, 0)
	w.want("runs", 1, 0, 3, 1)
	w.want("run_median", 1, 2.152694823, 3)
	w.want("run_95", 1, 40, 3)
	w.want("run_longest", 1, 40, 3)
	w.want("runs", 30, 4)
	w.want("run_longest", 30, 40)
	w.want("run_median", 30, 2.152694823)
}

// TestUnknownRuns: runs that a hub could not read count in the next sample. After the log was replaced, runs are
// unknown once. A sample that is dropped loses no run.
func TestUnknownRuns(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 1, 0)
	w.runs = append(w.runs, time.Second, time.Second)
	w.deaf = true
	w.sample(Interval, 1, 0)
	w.deaf = false
	w.want("runs", 1)
	w.sample(-time.Minute, 1, 0) // the clock was set back
	w.sample(time.Minute+Interval, 1, 0)
	w.want("runs", 1, 2)
	w.runs = nil
	w.sample(Interval, 1, 0)
	w.want("runs", 1, 2)
	w.runs = append(w.runs, time.Second)
	w.sample(Interval, 1, 0)
	w.want("runs", 1, 2, 1)
}

// TestDamagedRuns: impossible histograms are unknown. The other values of the line stay.
func TestDamagedRuns(t *testing.T) {
	for _, bad := range []string{`{"counts":[[113,2]]}`, `{"counts":[[3,0]]}`, `{"counts":[[3,1],[3,1]]}`,
		`{"counts":[[4,1],[3,1]]}`, `{"longest_ns":-1}`, `{"longest_ns":2592000000000001}`,
		`null`} {
		w := newWorld(t)
		file := path.Join("/history", fileOf(w.now))
		if err := w.files.Mkdir("/history", 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"at":%d,"values":{"targets":4},"runs":%s,"position":7}`+"\n", w.now.Unix(), bad)
		if err := smallfile.Write(w.files, file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.want("targets", 1, 4)
		w.want("runs", 1)
	}
}

// TestQuantiles: a quantile is at least the exact one, and at most 19 % above it. Histograms of two parts have the
// quantiles of their sum.
func TestQuantiles(t *testing.T) {
	if bound(lastBucket) < fleet.MaxRunTime || bound(lastBucket-4) > fleet.MaxRunTime {
		t.Errorf("the last bound is %v", bound(lastBucket))
	}
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(1, int64(fleet.MaxRunTime)), 1, 50).Draw(t, "runs")
		var sum, part runCounter
		for i, d := range all {
			part.count(time.Duration(d))
			if i%3 == 0 {
				sum.add(part.times())
				part = runCounter{}
			}
		}
		sum.add(part.times())
		q := rapid.Float64Range(0.01, 1).Draw(t, "part")
		got := sum.quantile(q)
		exact := math.Inf(1)
		for _, d := range all {
			within := 0
			for _, other := range all {
				if other <= d {
					within++
				}
			}
			if float64(within) >= q*float64(len(all)) {
				exact = min(exact, time.Duration(d).Seconds())
			}
		}
		if !sum.times().valid() || sum.runs() != uint64(len(all)) || got < exact-1e-9 || got > max(0.01, exact*1.1893) {
			t.Fatalf("the quantile %v is %v, exactly %v", q, got, exact)
		}
	})
}
