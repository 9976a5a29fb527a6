package rollout_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// BenchmarkDecide measures decisions about a rollout in its last wave: most decisions find nothing new.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("%d targets, nothing new", n), func(b *testing.B) {
			f, w := large(b, n)
			for b.Loop() {
				if events := f.s.Decide(w, f.now); len(events) > 0 {
					b.Fatal(events)
				}
			}
		})
		b.Run(fmt.Sprintf("%d targets, a wave of grants", n), func(b *testing.B) {
			f, w := large(b, n)
			snapshot := f.log
			for b.Loop() {
				s := rollout.NewState()
				for _, e := range snapshot[:len(snapshot)-n/4] {
					s.Fold(e)
				}
				s.Decide(w, f.now)
			}
		})
	}
}

// large returns a fleet with a rollout that granted a quarter of its last wave.
func large(b *testing.B, n int) (*fleet, rollout.World) {
	s := rollout.Careful()
	s.Waves = s.Waves[2:]
	f := newFleet(b, n, s)
	f.log = append(f.log, f.s.Decide(f.world(), f.now)...)
	f.publish()
	return f, f.world()
}
