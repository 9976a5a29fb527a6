package rollouts

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"pgregory.net/rapid"
)

// TestKeptResults: results that are kept for targets with the same lists, also between decisions, are the same as
// results for each single target.
func TestKeptResults(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMany(t, 9, 4)
		compared := 0
		m.again = func(turn *Turn, all []assign.Desired) {
			for _, d := range all {
				compared++
				compareAlone(r, turn, d)
			}
		}
		m.commit(1)
		for i := range rapid.IntRange(5, 15).Draw(r, "steps") {
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				m.commit(2+i, group(rapid.IntRange(0, 3).Draw(r, "group")), "modules/m00")
			case 1:
				m.commit(2+i, group(rapid.IntRange(0, 3).Draw(r, "group")))
			}
			m.fleet.Now += rapid.Int64Range(1, 20).Draw(r, "seconds")
			state := document.Ready
			if rapid.IntRange(0, 9).Draw(r, "fails") == 0 {
				state = document.Failed
			}
			m.report(state, m.step()...)
		}
		if compared == 0 {
			r.Fatal("nothing was compared")
		}
	})
}

// compareAlone compares the results for one target with results that are computed only for it.
func compareAlone(r *rapid.T, turn *Turn, d assign.Desired) {
	kept := turn.parts
	defer func() { turn.parts = kept }()
	target := turn.world.Targets[d.Target.ID]
	give, why := turn.grant(target, d.Was, *d.Want)
	turn.parts = &differences{}
	if alone := wants(d.Was, *d.Want); !reflect.DeepEqual(target.Wants, alone) {
		r.Fatalf("%s wants %v instead of %v", d.Target.Name, target.Wants, alone)
	}
	alone, whyAlone := turn.grant(target, d.Was, *d.Want)
	if !give.Same(alone) || why != whyAlone {
		r.Fatalf("%s gets %s (%s) instead of %s (%s)", d.Target.Name, text(give), why, text(alone), whyAlone)
	}
	for _, p := range parts(*d.Want) {
		if kept.has(d.Want, partName(p)) != digest(p) {
			r.Fatalf("the digest of %s is wrong", partName(p))
		}
	}
}
