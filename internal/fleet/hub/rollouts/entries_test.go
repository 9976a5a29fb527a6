package rollouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// hash returns a digest that cannot be compressed well.
func hash(i int) string {
	sum := sha256.Sum256(fmt.Append(nil, i))
	return hex.EncodeToString(sum[:])
}

// manyTargets returns the IDs of targets as they are in a fleet.
func manyTargets(t *testing.T, n int) []fleet.TargetID {
	t.Helper()
	out := make([]fleet.TargetID, n)
	for i := range out {
		id, err := fleet.NewTargetID(nil)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = id
	}
	return out
}

// A log with a rollout of 100,000 targets, of which each had other content, fits in the store. Another hub has
// the same state after it.
func TestLargeRollout(t *testing.T) {
	const changes = 50
	store := bustest.NewStore()
	l := hubOf(t, store)
	targets := manyTargets(t, 100_000)
	plan := rollout.Plan{Lane: "main", Strategy: rollout.Careful(), Waves: rollout.Careful().Distribute(targets, "r1")}
	contents := map[rollout.Change]fleet.Assigned{}
	for i := range 3000 {
		plan.Changes = append(plan.Changes, rollout.Change{Part: fmt.Sprint("modules/m", i), Digest: hash(i)})
		contents[plan.Changes[i]] = fleet.Assigned{Module: fmt.Sprint("modules/m", i), Bundle: fleet.Bundle{Digest: hash(i)},
			Revision: fleet.Revision{Commit: hash(-i)[:40], Signer: hash(-i)}, Proof: &fleet.Bundle{Digest: hash(9000 + i)}}
	}
	all := []rollout.Event{{Rollout: "r1", Kind: rollout.Created, Created: &plan}}
	for i, id := range targets[:2000] {
		e := rollout.Event{Rollout: "r1", Kind: rollout.Granted, Target: id}
		for k := range changes {
			e.Before = append(e.Before, rollout.Change{Part: plan.Changes[k].Part, Digest: hash(i*changes + k)})
		}
		all = append(all, e)
	}
	if err := l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		l.state.Fold(e)
	}
	if err := l.store(t.Context(), all, contents); err != nil {
		t.Fatal(err)
	}
	l.end()
	same(t, l, hubOf(t, store), len(targets), len(contents))
}

// same demands that another hub has the state of a hub, with one rollout.
func same(t *testing.T, l, other *Log, members, contents int) {
	t.Helper()
	phases(other)
	a, b := l.state.Rollouts["r1"], other.shown.state.Rollouts["r1"]
	if b == nil || len(b.Members) != members || len(other.shown.contents) != contents {
		t.Fatalf("another hub has %v, and %d contents", b, len(other.shown.contents))
	}
	for i, w := range a.Plan.Waves {
		if fmt.Sprint(b.Plan.Waves[i]) != fmt.Sprint(w) {
			t.Errorf("the wave %s is different", w.Name)
		}
	}
	for id, m := range a.Members {
		if o := b.Members[id]; o == nil || fmt.Sprint(*o) != fmt.Sprint(*m) {
			t.Fatalf("%s is different: %v and %v", id, m, o)
		}
	}
}

// An entry contains as much as fits: contents first.
func TestEntries(t *testing.T) {
	few := entries([]rollout.Event{{Rollout: "r1"}, {Rollout: "r2"}}, map[rollout.Change]fleet.Assigned{{Digest: "d"}: {}})
	if len(few) != 1 || len(few[0].Events) != 2 || len(few[0].Contents) != 1 {
		t.Errorf("a small decision: %+v", few)
	}
	if out := entries(nil, nil); len(out) != 0 {
		t.Errorf("a decision without events: %+v", out)
	}
	many := entries(make([]rollout.Event, 2001), map[rollout.Change]fleet.Assigned{{Digest: "d"}: {}})
	var sizes []int
	for _, e := range many {
		sizes = append(sizes, len(e.Events))
		if e.Format != records.RolloutsFormat {
			t.Errorf("the format is %q", e.Format)
		}
	}
	if got := fmt.Sprint(sizes); got != "[999 1000 2]" || len(many[0].Contents) != 1 {
		t.Errorf("the entries have %s events", got)
	}
}
