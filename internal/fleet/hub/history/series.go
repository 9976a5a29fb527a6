package history

import (
	"math"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// Load is the load of this hub.
type Load struct {
	CPU    float64 // seconds of CPU time that the process has used
	Memory float64 // bytes of resident memory
}

// series is one number over time. Its index in all() is its place in a sample.
type series struct {
	name, unit, text string
	// worst means that the largest value of a time span counts, and not the mean.
	worst bool
	of    func(s document.Status) float64 // nil: a number of the hub, or of runs
	runs  func(c *runCounter) float64     // nil: not a number of runs
}

// The places of the numbers of the hub.
const (
	cpu    = 0
	memory = 1
)

// all returns all series. New ones belong at the end, so that stored samples keep their meaning.
func all() []series {
	return []series{
		{name: "cpu", unit: "cpus", text: "CPUs that this hub uses"},
		{name: "memory", unit: "bytes", text: "Memory of this hub", worst: true},
		{name: "targets", text: "Active targets", of: func(s document.Status) float64 { return float64(s.Targets) }},
		{name: "connected", text: "Connected targets", of: func(s document.Status) float64 { return float64(s.Connected) }},
		{name: "ready", text: "Targets that are ready",
			of: func(s document.Status) float64 { return float64(s.States[document.Ready]) }},
		{name: "errors", text: "Targets with an error", worst: true,
			of: func(s document.Status) float64 { return float64(s.Errors) }},
		{name: "behind", text: "Targets that have not applied their assignment", worst: true,
			of: func(s document.Status) float64 { return float64(s.Behind) }},
		{name: "drift", unit: "addresses", text: "Addresses with drift", worst: true,
			of: func(s document.Status) float64 { return float64(s.Drift) }},
		{name: "frozen", text: "Targets whose agents report a freeze", worst: true,
			of: func(s document.Status) float64 { return float64(s.Frozen) }},
		{name: "runs", unit: "runs", text: "Ended runs in each time span",
			runs: func(c *runCounter) float64 { return float64(c.runs()) }},
		{name: "run_median", unit: "seconds", text: "Median of run times",
			runs: func(c *runCounter) float64 { return c.quantile(0.5) }},
		{name: "run_95", unit: "seconds", text: "95th percentile of run times",
			runs: func(c *runCounter) float64 { return c.quantile(0.95) }},
		{name: "run_longest", unit: "seconds", text: "Longest run time",
			runs: func(c *runCounter) float64 { return c.quantile(1) }},
	}
}

// keep is the time for which samples stay.
const keep = 30 * 24 * time.Hour

// sample is the values of all series at a time. NaN is an unknown value.
type sample struct {
	at     int64 // seconds since 1970
	values []float64
	// runs are the runs since the sample before; nil means unknown. position is the end of the log that they come from.
	runs     *runTimes
	position uint64
}

// valuesOf returns the values of a status. The numbers of the hub are unknown.
func valuesOf(s document.Status) []float64 {
	out := make([]float64, len(all()))
	for i, each := range all() {
		out[i] = math.NaN()
		if each.of != nil {
			out[i] = each.of(s)
		}
	}
	return out
}
