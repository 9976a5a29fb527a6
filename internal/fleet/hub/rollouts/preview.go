package rollouts

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Preview decides with a copy of the state, which it discards, and describes the result. in contains the
// commit as the head of the branch. It computes the same as the hub that leads. The result is exact while the
// fleet does not change. The desired assignments of the targets are the second result.
func (l *Log) Preview(ctx context.Context, f Fleet, in assign.Input) (document.RolloutPlan, []assign.Desired, error) {
	turn, err := NewLog(l.mirror).Begin(ctx)
	if err != nil {
		return document.RolloutPlan{}, nil, err
	}
	defer turn.End()
	f.Eager = true
	p := preview{fleet: f, turn: turn, open: map[string]bool{}}
	for _, r := range turn.log.state.Open() {
		p.open[r.ID] = true
	}
	in.Plan = func(all []assign.Desired) assign.Grant {
		p.all = all
		return turn.Plan(f, all)
	}
	assign.Compute(in)
	return p.document(), p.all, ctx.Err()
}

// preview is the result of a discarded decision.
type preview struct {
	fleet   Fleet
	turn    *Turn
	open    map[string]bool // rollouts that were open before
	all     []assign.Desired
	names   map[fleet.TargetID]string
	kept    map[fleet.TargetID]string             // the reasons why targets must not be changed now
	planned map[fleet.TargetID][]*rollout.Rollout // new rollouts of each target
}

func (p *preview) document() document.RolloutPlan {
	d := document.RolloutPlan{Format: document.RolloutPlanFormat, Branch: p.fleet.Branch,
		Rollouts: []document.PlannedRollout{}, AtOnce: []document.PlannedTargets{}, Waiting: []document.PlannedTargets{},
		Needs: []document.PlannedNeed{}}
	p.names, p.kept = map[fleet.TargetID]string{}, map[fleet.TargetID]string{}
	p.planned = map[fleet.TargetID][]*rollout.Rollout{}
	for _, t := range p.all {
		p.names[t.Target.ID], p.kept[t.Target.ID] = t.Target.Name, t.Kept
	}
	for _, r := range slices.Backward(p.turn.log.state.All()) {
		if !p.isNew(r) {
			continue
		}
		for id := range r.Members {
			p.planned[id] = append(p.planned[id], r)
		}
		d.Rollouts = append(d.Rollouts, p.rollout(r))
	}
	d.AtOnce, d.Waiting = p.others()
	d.StrategyChanges = p.strategyChanges()
	d.Needs = p.needs()
	return d
}

// isNew reports whether the decision created a rollout with targets.
func (p *preview) isNew(r *rollout.Rollout) bool {
	return len(r.Members) > 0 && slices.ContainsFunc(p.turn.events, func(e rollout.Event) bool {
		return e.Kind == rollout.Created && e.Rollout == r.ID
	})
}

func (p *preview) rollout(r *rollout.Rollout) document.PlannedRollout {
	shown := documentOf(r, false, 0)
	out := document.PlannedRollout{Strategy: shown.Strategy, Cause: shown.Cause, Parts: shown.Parts,
		WorstCase: shown.WorstCase, OnBreach: string(r.Plan.Strategy.OnBreach), Waits: true,
		Supersedes: p.superseded(r)}
	for i, w := range shown.Waves {
		out.Waves = append(out.Waves, document.PlannedWave{Name: w.Name, Targets: []string{},
			MaxUnavailable: w.MaxUnavailable, Bake: w.Bake, Gates: plannedGates(r, i)})
	}
	for id, m := range r.Members {
		out.Waves[m.Wave].Targets = append(out.Waves[m.Wave].Targets, p.names[id])
		if p.fleet.Targets[id].Connected && p.kept[id] == "" {
			out.Waits = false
		}
	}
	for _, w := range out.Waves {
		slices.Sort(w.Targets)
	}
	return out
}

// superseded returns the open rollouts that lose targets to a new one.
func (p *preview) superseded(r *rollout.Rollout) []document.PlannedSuperseded {
	lost := map[string]int{}
	for _, e := range p.turn.events {
		if e.Kind == rollout.Left && p.open[e.Rollout] && r.Members[e.Target] != nil {
			lost[e.Rollout]++
		}
	}
	out := []document.PlannedSuperseded{}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		out = append(out, document.PlannedSuperseded{Rollout: id, Targets: lost[id],
			Ends: p.turn.log.state.Rollouts[id].Phase == rollout.Superseded})
	}
	return out
}

// others returns the changes that do not wait for a rollout, and the targets that wait.
func (p *preview) others() (atOnce, waiting []document.PlannedTargets) {
	now, later := groups{}, groups{}
	for _, d := range p.all {
		switch {
		case d.Want == nil && d.Kept == "" && d.Target.Pin != nil:
			later.add("pinned to "+d.Target.Pin.Ref, "", d.Target.Name)
		case d.Want == nil:
			later.add(cmp.Or(d.Kept, "pinned"), "", d.Target.Name)
		default:
			p.changes(d, now, later)
		}
	}
	return now.sorted(), later.sorted()
}

// changes adds the changes of one target.
func (p *preview) changes(d assign.Desired, now, later groups) {
	target := p.turn.world.Targets[d.Target.ID]
	lane, all := target.Lane, target.Wants
	if lane == "" {
		all = wants(d.Was, *d.Want)
	}
	for _, c := range all {
		isPlanned := slices.ContainsFunc(p.planned[d.Target.ID], func(r *rollout.Rollout) bool {
			return slices.Contains(r.Plan.Changes, c)
		})
		allowed, why := true, "the strategy is at-once"
		if lane != "" {
			allowed, why = p.turn.log.state.Permits(d.Target.ID, target, c)
			if !allowed {
				why = p.turn.log.state.Reason(p.turn.world, d.Target.ID, c)
			}
		}
		switch {
		case d.Kept != "":
			later.add(d.Kept, c.Part, d.Target.Name)
		case !p.fleet.Targets[d.Target.ID].Connected:
			later.add("no contact", c.Part, d.Target.Name)
		case isPlanned || allowed && p.turn.log.state.Granted(d.Target.ID, c):
		case allowed:
			now.add(why, c.Part, d.Target.Name)
		default:
			later.add(why, c.Part, d.Target.Name)
		}
	}
}

// strategyChanges returns the targets for which the planned content selects another strategy than the present one.
func (p *preview) strategyChanges() []document.PlannedStrategyChange {
	strategies := map[[2]string][]string{}
	for _, d := range p.all {
		t := p.turn.world.Targets[d.Target.ID]
		if t.Lane != "" && t.Lane != t.Chosen { // without a desired assignment, there is no lane
			key := [2]string{rollout.StrategyOf(t.Lane), rollout.StrategyOf(t.Chosen)}
			strategies[key] = append(strategies[key], d.Target.Name)
		}
	}
	out := []document.PlannedStrategyChange{}
	for key, targets := range strategies {
		slices.Sort(targets)
		out = append(out, document.PlannedStrategyChange{From: key[0], To: key[1], Targets: targets})
	}
	slices.SortFunc(out, func(a, b document.PlannedStrategyChange) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// needs returns the dependencies of changed modules, also of modules that need them.
func (p *preview) needs() []document.PlannedNeed {
	all := map[document.PlannedNeed]bool{}
	for _, d := range p.all {
		if d.Want == nil {
			continue
		}
		changed := map[string]bool{}
		for _, c := range wants(d.Was, *d.Want) {
			changed[c.Part] = true
		}
		for _, m := range d.Want.Modules {
			for _, n := range m.Needs {
				if changed[m.Module] || changed[n.Module] {
					all[document.PlannedNeed{Module: m.Module, Needs: n.Module, Level: n.Level}] = true
				}
			}
		}
	}
	out := slices.AppendSeq([]document.PlannedNeed{}, maps.Keys(all))
	slices.SortFunc(out, func(a, b document.PlannedNeed) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Needs, b.Needs), cmp.Compare(a.Level, b.Level))
	})
	return out
}

// groups are targets and parts by reason.
type groups map[string]map[string][]string

func (g groups) add(reason, part, target string) {
	if g[reason] == nil {
		g[reason] = map[string][]string{}
	}
	g[reason][target] = append(g[reason][target], part)
}

func (g groups) sorted() []document.PlannedTargets {
	out := []document.PlannedTargets{}
	for _, reason := range slices.Sorted(maps.Keys(g)) {
		p := document.PlannedTargets{Reason: reason, Targets: slices.Sorted(maps.Keys(g[reason]))}
		for _, parts := range g[reason] {
			p.Parts = append(p.Parts, parts...)
		}
		slices.Sort(p.Parts)
		p.Parts = slices.DeleteFunc(slices.Compact(p.Parts), func(part string) bool { return part == "" })
		out = append(out, p)
	}
	return out
}
