package view_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// large returns a view of n targets in 200 racks.
func large(t testing.TB, n int) *view.View {
	t.Helper()
	v := open(t, view.Options{})
	for i := range n {
		target := fleet.Target{ID: fleet.TargetID(fmt.Sprintf("%026d", i)), Name: fmt.Sprintf("host%06d", i),
			Standing: fleet.Active, Fleet: fmt.Sprint("fleet", i%3),
			Labels: map[string]string{"role": "web", "rack": fmt.Sprint(i % 200)}}
		if err := v.PutTarget(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// BenchmarkTargets measures answers about a fleet with 100,000 targets, one of which changed since the last answer. The
// time of the CPU is also meaningful on a busy machine.
func BenchmarkTargets(b *testing.B) {
	v := large(b, 100_000)
	for name, q := range map[string]view.TargetQuery{
		"first page":       {Sort: "state", Limit: 50},
		"selection":        {Sort: "name", Limit: 50, Select: []string{"label:rack=7"}},
		"groups by label":  {Sort: "state", Limit: 50, By: "label:rack"},
		"groups by module": {Sort: "state", Limit: 50, By: "module"},
		"largest page":     {Sort: "-name", Limit: view.MaxPage},
	} {
		b.Run(name, func(b *testing.B) {
			measure(b, func(n int) error {
				one := fleet.Target{ID: id(7), Name: "host", Standing: fleet.Active, Labels: map[string]string{"n": fmt.Sprint(n)}}
				if err := v.PutTarget(b.Context(), one); err != nil {
					return err
				}
				_, err := v.Targets(b.Context(), q)
				return err
			})
		})
	}
	b.Run("status", func(b *testing.B) {
		measure(b, func(int) error {
			_, err := v.Status(b.Context(), at(1))
			return err
		})
	})
}

func measure(b *testing.B, do func(n int) error) {
	if err := do(0); err != nil { // reads all rows
		b.Fatal(err)
	}
	before, n := used(b), 0
	for b.Loop() {
		if n++; do(n) != nil {
			b.Fatal("the answer has an error")
		}
	}
	b.ReportMetric(float64((used(b)-before).Microseconds())/1000/float64(n), "cpu-ms/op")
}

func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
