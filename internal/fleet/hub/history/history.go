// Package history keeps numbers about the fleet and its hub for 30 days, for plots.
//
//	h := history.New(history.Config{Files: files, Dir: "/srv/hub/history", Fleet: view.Status, …})
//	go h.Run(ctx)
//	page, err := h.History(ctx, route.HistoryQuery{Days: 7})
//
// A hub takes a sample every five minutes. The numbers of the fleet come from its read model, so all hubs have about
// the same. The load is its own.
//
// A sample also has the run times of the runs whose end was recorded since the sample before, as a histogram. A run
// counts when its report is recorded, so a clock of an agent does not matter. Reports that were recorded while the hub
// was down count in its next sample. Only runs that agents report count: a run that only looked, that was blocked or
// interrupted, or that repeated the same failure does not. Nor does one of an agent that reports no duration.
//
//   - Absence: while the hub is down, there are no samples. A plot has a gap there, not zero.
//   - Unknown: if the read model or the load cannot be read, the sample lacks these values.
//   - Repetition: a sample at or before the time of the newest one is dropped, for example after the clock was set
//     back.
//   - Interruption: a sample is written atomically. After a crash, at most the last one is missing.
//   - Damage: lines that cannot be read are skipped. The next sample of the day replaces the file without them.
//   - Runs: their numbers are unknown at the first sample of a hub, and after the log was replaced. If no run ended,
//     the number of runs is zero, and the run times are unknown.
//   - Bounds: one file for each day, in UTC, of at most 288 samples. Files older than 30 days are removed.
package history

import (
	"context"
	"math"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/host"
)

// Interval is the time between two samples. Days is the number of days for which samples stay.
const (
	Interval = 5 * time.Minute
	Days     = int(keep / (24 * time.Hour))
)

// Config contains what a History needs of its hub. All fields must be set.
type Config struct {
	Hub   string
	Files host.FS
	Dir   string // for the samples; it is created
	Now   func() time.Time
	Warn  func(string)
	Fleet func(ctx context.Context, now time.Time) (document.Status, error)
	Load  func() (Load, error)
	// Runs calls each with the run time of each run whose end was recorded after a position of the log. It returns the
	// position until which it read.
	Runs func(ctx context.Context, after uint64, each func(time.Duration)) (until uint64, err error)
}

// History is the samples of a hub. It is safe for concurrent use.
type History struct {
	Config

	mu      sync.Mutex
	samples []sample // sorted by time
	used    float64  // CPU time at the last sample; NaN before the first one
	since   int64    // time of used
	// position is the end of the log in which runs were counted; 0 means none.
	position uint64
}

// New returns a history without samples.
func New(c Config) *History { return &History{Config: c, used: math.NaN()} }

// Run reads the stored samples and takes new ones until ctx ends. A failure to store them is a warning: the hub serves
// without plots.
func (h *History) Run(ctx context.Context) error {
	h.read()
	for {
		if err := h.take(ctx); err != nil && ctx.Err() == nil {
			h.Warn("cannot store the numbers for plots: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Interval):
		}
	}
}

// read reads the stored samples.
func (h *History) read() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = h.disk().load(h.Now())
	h.forget(h.Now())
	if n := len(h.samples); n > 0 {
		h.position = h.samples[n-1].position
	}
}

func (h *History) disk() disk { return disk{h.Files, h.Dir, h.Warn} }

// take takes one sample.
func (h *History) take(ctx context.Context) error {
	now := h.Now()
	status, err := h.Fleet(ctx, now)
	values := valuesOf(status)
	if err != nil {
		for i := range values {
			values[i] = math.NaN()
		}
	}
	load, loadErr := h.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	if loadErr == nil {
		h.measure(values, load, now.Unix())
	}
	if n := len(h.samples); n > 0 && h.samples[n-1].at >= now.Unix() {
		return nil
	}
	runs := h.countRuns(ctx)
	h.samples = append(h.samples, sample{now.Unix(), values, runs, h.position})
	h.forget(now)
	return h.disk().store(h.samples, now)
}

// measure adds the load of the hub since the last sample. The CPUs are unknown at the first one.
func (h *History) measure(values []float64, l Load, now int64) {
	values[memory] = l.Memory
	if passed := now - h.since; !math.IsNaN(h.used) && passed > 0 {
		values[cpu] = max(0, l.CPU-h.used) / float64(passed)
	}
	h.used, h.since = l.CPU, now
}

// forget drops samples that are too old.
func (h *History) forget(now time.Time) {
	first := now.Add(-keep).Unix()
	i := 0
	for i < len(h.samples) && h.samples[i].at < first {
		i++
	}
	h.samples = append([]sample{}, h.samples[i:]...)
}

// countRuns counts the runs whose end was recorded since the last count. It returns nil, which means unknown, if the
// log cannot be read, at the first count, and if the log was replaced.
func (h *History) countRuns(ctx context.Context) *runTimes {
	var found runCounter
	until, err := h.Runs(ctx, h.position, found.count)
	if err != nil {
		return nil // the next count has them
	}
	known := h.position > 0 && until >= h.position
	if h.position = until; !known {
		return nil
	}
	return found.times()
}
