package rollouts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// threeHosts returns a fleet of h00000, h00001 and h00002 with the stable commit 1.
func threeHosts(t *testing.T) *many {
	m := newMany(t, 3, 1)
	m.commit(1)
	m.finish()
	return m
}

func host(i int) string { return fmt.Sprintf("h%05d", i) }

// seen changes the state of a host.
func (m *many) seen(i int, change func(*document.Target)) {
	d := m.fleet.Targets[m.targets[i].ID]
	change(&d)
	m.fleet.Targets[m.targets[i].ID] = d
}

func offline(d *document.Target) { d.Connected = false }
func online(d *document.Target)  { d.Connected = true }

// resolve lets a branch have the present commit.
func (m *many) resolve(branch string) {
	m.state.Fold(assign.Event{Rev: 9, Kind: assign.RefEvent, Key: branch,
		Ref: &assign.Ref{Commit: m.fleet.Head.Revision.Commit}})
}

// pin pins a host to the present commit.
func (m *many) pin(i int) {
	pinned := m.targets[i]
	pinned.Pin = &fleet.Pin{Ref: "old"}
	m.state.Fold(assign.Event{Rev: 9, Kind: assign.TargetEvent, Key: string(pinned.ID), Target: &pinned})
	m.resolve("old")
}

// preview returns the plan of the commit 9 with other content for the module m00. change can be nil.
func (m *many) preview(change func(c *assign.Contents)) document.RolloutPlan {
	c := m.compiled(9, "modules/m00")
	if change != nil {
		change(&c)
	}
	revisions := maps.Clone(m.contents)
	revisions[c.Revision.Commit] = c
	in, f := m.state.Input(m.fleet.Now, revisions), m.fleet
	in.Refs["main"], f.Head, f.Observed = assign.Ref{Commit: c.Revision.Commit}, c, &Observed{}
	plan, _, err := m.log.Preview(m.tb.Context(), f, in)
	if err != nil {
		m.tb.Fatal(err)
	}
	return plan
}

// TestPreview: the plan shows the rollout that really begins with the commit, and changes nothing.
func TestPreview(t *testing.T) {
	m := threeHosts(t)
	plan := m.preview(nil)
	for range 8 { // the order of maps is random
		if again := m.preview(nil); !reflect.DeepEqual(again, plan) {
			t.Errorf("%+v, and the same preview again is %+v", plan, again)
		}
	}
	if got := m.step(); len(got) > 0 || phases(m.log) != "r1 completed" {
		t.Errorf("a preview has an effect: %v, %s", got, phases(m.log))
	}
	m.fleet.Head.Revision.Commit = "" // another commit
	m.commit(9, "modules/m00")
	m.step()
	real := m.log.state.Rollouts["r2"]
	want := document.PlannedRollout{Strategy: "many", Cause: real.Plan.Cause, Parts: []string{"modules/m00"},
		WorstCase: 1, OnBreach: "rollback", Supersedes: []document.PlannedSuperseded{}}
	for _, w := range real.Plan.Waves {
		one := document.PlannedWave{Name: w.Name, MaxUnavailable: 1}
		for _, id := range w.Members {
			one.Targets = append(one.Targets, "h"+string(id[1:]))
		}
		slices.Sort(one.Targets)
		want.Waves = append(want.Waves, one)
	}
	if len(plan.Rollouts) != 1 || !reflect.DeepEqual(plan.Rollouts[0], want) || len(want.Waves) != 2 {
		t.Errorf("%+v, want %+v", plan.Rollouts, want)
	}
	if plan.Branch != "main" || plan.AtOnce == nil || len(plan.AtOnce) > 0 || len(plan.Waiting) > 0 || plan.Needs == nil {
		t.Errorf("%+v", plan)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := m.log.Preview(ctx, m.fleet, m.state.Input(1, m.contents)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the user has cancelled: %v", err)
	}
}

// TestPreviewOfOthers: changes outside of rollouts, with the reason.
func TestPreviewOfOthers(t *testing.T) {
	m00, none := []string{"modules/m00"}, []string{}
	because := func(reason string, parts []string, target int) []document.PlannedTargets {
		return []document.PlannedTargets{{Reason: reason, Parts: parts, Targets: []string{host(target)}}}
	}
	for name, c := range map[string]struct {
		prepare     func(m *many)
		change      func(c *assign.Contents)
		atOnce      []document.PlannedTargets
		waiting     []document.PlannedTargets
		rollouts, n int // n is the number of targets in them
	}{
		"without a strategy": {nil, func(c *assign.Contents) {
			c.Targets[host(0)] = assign.Configured{Modules: c.Targets[host(0)].Modules}
		}, because("the strategy is at-once", m00, 0), nil, 1, 2},
		"away": {func(m *many) { m.seen(1, offline) }, nil, nil, because("no contact", m00, 1), 1, 3},
		"frozen": {func(m *many) {
			m.state.Fold(assign.Event{Rev: 9, Kind: assign.FreezeEvent, Key: "x", Freeze: &assign.Freeze{Key: "x",
				Targets: []fleet.TargetID{m.targets[2].ID}, Reason: "a test", By: "ann"}})
		}, nil, nil, because("it is frozen: a test (ann)", m00, 2), 1, 3},
		"pinned": {func(m *many) {
			m.pin(0)
		}, nil, nil, because("pinned to old", none, 0), 1, 2},
		"pinned in addition": {func(m *many) {
			m.state.Fold(assign.Event{Rev: 9, Kind: assign.PinEvent, Key: "x", Pin: &assign.Pin{Key: "x",
				Target: m.targets[0].ID, Pin: fleet.Pin{Ref: "old"}}})
			m.resolve("old")
		}, nil, nil, because("pinned", none, 0), 1, 2},
		"a pinned module": {func(m *many) {
			pinned := m.targets[0]
			pinned.Pin = &fleet.Pin{Ref: "old", Module: "modules/m01"}
			m.state.Fold(assign.Event{Rev: 9, Kind: assign.TargetEvent, Key: string(pinned.ID), Target: &pinned})
			m.resolve("old")
		}, nil, nil, nil, 1, 3},
		"away, two modules": {func(m *many) { m.seen(1, offline); m.seen(2, offline) }, func(c *assign.Contents) {
			c.Bundles["modules/m01"] = fleet.Bundle{Digest: "new", Size: 1}
		}, nil, []document.PlannedTargets{{Reason: "no contact", Parts: []string{"modules/m00", "modules/m01"},
			Targets: []string{host(1), host(2)}}}, 1, 3},
		"pinned to nothing": {func(m *many) {
			pinned := m.targets[0]
			pinned.Pin = &fleet.Pin{Ref: "gone"}
			m.state.Fold(assign.Event{Rev: 9, Kind: assign.TargetEvent, Key: string(pinned.ID), Target: &pinned})
		}, nil, nil, because("gone has no commit", none, 0), 1, 2},
		"an error": {nil, func(c *assign.Contents) {
			c.Targets[host(0)] = assign.Configured{Errors: []string{"no such file"}}
		}, nil, because("the commit 000000000000 has an error for it: no such file", none, 0), 1, 2},
	} {
		m := threeHosts(t)
		if c.prepare != nil {
			c.prepare(m)
		}
		plan := m.preview(c.change)
		members := 0
		for _, r := range plan.Rollouts {
			for _, w := range r.Waves {
				members += len(w.Targets)
			}
		}
		if len(plan.Rollouts) != c.rollouts || members != c.n || len(plan.StrategyChanges) > 0 ||
			!reflect.DeepEqual(plan.AtOnce, append([]document.PlannedTargets{}, c.atOnce...)) ||
			!reflect.DeepEqual(plan.Waiting, append([]document.PlannedTargets{}, c.waiting...)) {
			t.Errorf("%s: at once %+v, waiting %+v, %d targets in %d rollouts", name, plan.AtOnce, plan.Waiting, members,
				len(plan.Rollouts))
		}
	}
}

// TestPreviewThatWaits: a rollout waits if none of its targets can be changed.
func TestPreviewThatWaits(t *testing.T) {
	m := threeHosts(t)
	freeze := assign.Freeze{Key: "x", Targets: []fleet.TargetID{m.targets[2].ID}, Reason: "a test"}
	for i, want := range []bool{false, false, true, true} {
		switch i {
		case 0, 1:
			m.seen(i, offline)
		case 2:
			m.state.Fold(assign.Event{Rev: 9, Kind: assign.FreezeEvent, Key: "x", Freeze: &freeze})
		case 3:
			m.seen(2, offline)
		}
		if plan := m.preview(nil); len(plan.Rollouts) != 1 || plan.Rollouts[0].Waits != want {
			t.Errorf("with %d targets that cannot be changed: %+v", min(i+1, 3), plan.Rollouts)
		}
	}
}

// TestPreviewSupersedes: the plan names the open rollouts that lose targets.
func TestPreviewSupersedes(t *testing.T) {
	m := threeHosts(t)
	m.commit(2, "modules/m00")
	m.report(document.Ready, m.step()...)
	m.fleet.Now += 20 // the first target becomes ready in the same decision
	all := document.PlannedSuperseded{Rollout: "r2", Targets: 3, Ends: true}
	if plan := m.preview(nil); len(plan.Rollouts) != 1 || !slices.Equal(plan.Rollouts[0].Supersedes,
		[]document.PlannedSuperseded{all}) {
		t.Errorf("%+v", plan.Rollouts)
	}
	m.pin(0)
	all.Targets = 2
	if plan := m.preview(nil); len(plan.Rollouts) != 1 || !slices.Equal(plan.Rollouts[0].Supersedes,
		[]document.PlannedSuperseded{all}) {
		t.Errorf("with a pinned target: %+v", plan.Rollouts)
	}
}

// TestPreviewOfStableContent: a target that was away gets the stable content without a rollout.
func TestPreviewOfStableContent(t *testing.T) {
	m := threeHosts(t)
	m.seen(1, offline)
	m.commit(2, "modules/m00")
	m.finish()
	m.seen(1, online)
	plan := m.preview(func(c *assign.Contents) { c.Bundles["modules/m00"] = m.fleet.Head.Bundles["modules/m00"] })
	want := []document.PlannedTargets{{Reason: "the content is stable", Parts: []string{"modules/m00"},
		Targets: []string{host(1)}}}
	if len(plan.Rollouts) > 0 || !reflect.DeepEqual(plan.AtOnce, want) {
		t.Errorf("%+v", plan)
	}
}

// TestPreviewOfHeldContent: content that failed waits for an operator.
func TestPreviewOfHeldContent(t *testing.T) {
	m := threeHosts(t)
	m.commit(2, "modules/m00")
	m.report(document.Failed, m.step()...)
	m.finish()
	plan := m.preview(func(c *assign.Contents) { c.Bundles["modules/m00"] = m.fleet.Head.Bundles["modules/m00"] })
	want := []document.PlannedTargets{{Reason: "held since the rollout r2 ended", Parts: []string{"modules/m00"},
		Targets: []string{host(0), host(1), host(2)}}}
	if len(plan.Rollouts) > 0 || !reflect.DeepEqual(plan.Waiting, want) {
		t.Errorf("%+v", plan)
	}
}

// TestPreviewOfStrategies: targets keep their strategy until they have content that selects another one.
func TestPreviewOfStrategies(t *testing.T) {
	m := threeHosts(t)
	plan := m.preview(func(c *assign.Contents) {
		for i, strategy := range []string{"slow", "careful", "careful"} {
			c.Targets[host(i)] = assign.Configured{Modules: c.Targets[host(i)].Modules, Strategy: strategy}
		}
		c.Strategies = append(c.Strategies, query.Strategy{Name: "slow", Waves: manyStrategy.Waves})
	})
	want := []document.PlannedStrategyChange{{From: "many", To: "careful", Targets: []string{host(1), host(2)}},
		{From: "many", To: "slow", Targets: []string{host(0)}}}
	if !reflect.DeepEqual(plan.StrategyChanges, want) || plan.Rollouts[0].Strategy != "many" {
		t.Errorf("%+v", plan)
	}
	if plan := m.preview(nil); len(plan.StrategyChanges) > 0 {
		t.Errorf("without another strategy: %+v", plan.StrategyChanges)
	}
}

// TestPreviewOfNeeds: the needs of changed modules, and of modules that need them.
func TestPreviewOfNeeds(t *testing.T) {
	m := threeHosts(t)
	need := func(c *assign.Contents, module int, others ...string) {
		for _, configured := range c.Targets {
			for _, o := range others {
				configured.Modules[module].Needs = append(configured.Modules[module].Needs,
					fleet.Need{Module: o, Level: fleet.Available})
			}
			return // they share their modules
		}
	}
	plan := m.preview(func(c *assign.Contents) {
		need(c, 1, "modules/m00")
		need(c, 0, "modules/m03", "modules/m04")
	})
	want := []document.PlannedNeed{{Module: "modules/m00", Needs: "modules/m03", Level: fleet.Available},
		{Module: "modules/m00", Needs: "modules/m04", Level: fleet.Available},
		{Module: "modules/m01", Needs: "modules/m00", Level: fleet.Available}}
	if !slices.Equal(plan.Needs, want) {
		t.Errorf("%+v", plan.Needs)
	}
}

// TestPreviewOfGates: the plan names the conditions for the end of each wave.
func TestPreviewOfGates(t *testing.T) {
	m := threeHosts(t)
	plan := m.preview(func(c *assign.Contents) {
		gated := manyStrategy
		gated.Waves = slices.Clone(gated.Waves)
		gated.Waves[0].Gates = []source.Gate{{Name: "board", Type: string(rollout.ApprovalGate), Need: 2, Timeout: 60},
			{Name: "errors", Type: string(rollout.MetricGate), DryRun: true, Count: 3, Interval: 10}}
		c.Strategies = []query.Strategy{gated}
	})
	want := []document.PlannedGate{{Name: "board", Type: "approval", Need: 2, Timeout: 60},
		{Name: "errors", Type: "metric", DryRun: true, Timeout: 3620}}
	if waves := plan.Rollouts[0].Waves; !slices.Equal(waves[0].Gates, want) || len(waves[1].Gates) > 0 {
		t.Errorf("%+v", waves)
	}
}
