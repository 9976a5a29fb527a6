package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// waves returns the sizes of the waves for n members.
func waves(s rollout.Strategy, n int) (sizes []int) {
	for _, w := range s.Distribute(ids(n), "r1") {
		sizes = append(sizes, len(w.Members))
	}
	return sizes
}

func ids(n int) (out []rollout.ID) {
	for i := range n {
		out = append(out, rollout.ID(fmt.Sprintf("h%04d", i)))
	}
	return out
}

func TestWaves(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 1: {1}, 2: {1, 1}, 3: {1, 1, 1}, 19: {1, 1, 17}, 20: {1, 2, 17},
		1000: {1, 100, 899}} {
		if got := waves(rollout.Careful(), n); !slices.Equal(got, want) {
			t.Errorf("%d members: waves of %v, want %v", n, got, want)
		}
		if got := waves(rollout.AtOnce(), n); len(got) != min(n, 1) {
			t.Errorf("%d members at once: waves of %v", n, got)
		}
	}
}

// TestEachMemberHasOneWave: no selection excludes a target, and another rollout begins with other targets.
func TestEachMemberHasOneWave(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		members := ids(rapid.IntRange(0, 60).Draw(rt, "members"))
		s := rollout.Strategy{}
		for range rapid.IntRange(0, 4).Draw(rt, "waves") {
			w := rollout.WaveRule{Size: rapid.SampledFrom([]rollout.Amount{{}, {Number: 2}, {Number: 20, Percent: true}}).
				Draw(rt, "size")}
			if rapid.Bool().Draw(rt, "selects") {
				w.Selected = map[rollout.ID]bool{"h0003": true, "h0004": true, "h9999": true}
			}
			s.Waves = append(s.Waves, w)
		}
		var all []rollout.ID
		for _, w := range s.Distribute(members, "r1") {
			all = append(all, w.Members...)
		}
		if slices.Sort(all); !slices.Equal(all, members) {
			rt.Errorf("%v", all)
		}
	})
	first := map[rollout.ID]bool{}
	for i := range 50 {
		first[rollout.Careful().Distribute(ids(100), fmt.Sprint("r", i))[0].Members[0]] = true
	}
	if len(first) < 25 {
		t.Errorf("50 rollouts begin with only %d of 100 targets", len(first))
	}
}

func TestWorstCase(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 1, 20: 4, 1000: 224} {
		f := newFleet(t, n, rollout.Careful())
		f.step(1)
		if got := f.s.Rollouts["r1"].WorstCase(); got != want {
			t.Errorf("%d members: %d can fail, want %d", n, got, want)
		}
	}
}

// TestProgress: of the wave of 2, 1 member is ready, and a skipped member does not take part.
func TestProgress(t *testing.T) {
	f := begun(t, 30)
	f.strategy.Waves[1].MaxUnavailable = rollout.Amount{Number: 1}
	f.head["web"] = "w2"
	f.until(t, "the second wave", func() bool { return f.said(rollout.Advanced) == 3 })
	r := f.s.Rollouts["r2"]
	f.command(t, rollout.ToSkip, r.Plan.Waves[1].Members[0])
	f.until(t, "a ready member", func() bool { _, ready, _ := r.Progress(1); return ready == 1 })
	if size, _, atOnce := r.Progress(1); size != 2 || atOnce != 1 {
		t.Errorf("%d take part, and %d at once", size, atOnce)
	}
}
