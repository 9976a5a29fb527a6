package rollouts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/route"
)

// Service answers requests about rollouts. It implements api.Rollouts.
type Service struct {
	Log     *Log
	Now     func() time.Time
	Targets *records.Mirror[fleet.Target]
	Events  events.Recorder
	// Held returns the held content.
	Held func() []fleet.HeldContent
	// Preview implements PlanRollouts.
	Preview func(context.Context, document.RolloutPlanRequest) (document.RolloutPlan, error)
}

// HandleRoutes registers the handler of plans.
func (s Service) HandleRoutes(t *api.Table) { api.HandlePost(t, route.PlanRollouts(), s.PlanRollouts) }

// PlanRollouts returns the rollouts that a compiled commit would cause. It changes nothing.
func (s Service) PlanRollouts(ctx context.Context, _ api.Caller,
	r document.RolloutPlanRequest) (document.RolloutPlan, error) {
	return s.Preview(ctx, r)
}

// Rollouts returns all rollouts, the newest first.
func (s Service) Rollouts(context.Context) ([]document.Rollout, error) {
	var out []document.Rollout
	all := s.heldContent()
	s.Log.each(func(r *rollout.Rollout, held bool) {
		d := documentOf(r, held, s.Log.up.Load())
		d.HeldContent = heldOf(all, r.ID)
		out = append(out, d)
	})
	return out, nil
}

// Rollout returns one rollout and its targets. If there is none, the error wraps rollout.ErrNoRollout.
func (s Service) Rollout(_ context.Context, id string) (d document.RolloutDetail, err error) {
	found, all := false, s.heldContent()
	s.Log.each(func(r *rollout.Rollout, held bool) {
		if r.ID == id {
			found = true
			d.Rollout, d.Targets = documentOf(r, held, s.Log.up.Load()), s.targets(r)
			d.Rollout.HeldContent, d.Course = heldOf(all, r.ID), courseOf(r)
		}
	})
	if !found {
		return d, fmt.Errorf("%w: %s", rollout.ErrNoRollout, id)
	}
	return d, nil
}

// Waiting returns the open rollouts, oldest first, with the members that do not have the change yet.
func (s Service) Waiting() (out []rollout.Waiting) {
	s.Log.each(func(r *rollout.Rollout, _ bool) {
		if !r.Phase.Final() {
			out = append(out, r.Waiting())
		}
	})
	slices.Reverse(out)
	return out
}

func (s Service) heldContent() []fleet.HeldContent {
	if s.Held == nil {
		return nil
	}
	return s.Held()
}

// OrderRollout stores a command.
func (s Service) OrderRollout(ctx context.Context, c rollout.Command) error {
	changed, err := s.Log.Order(ctx, c, s.Now().Unix())
	Record(ctx, s.Events, changed)
	return err
}

// Record records events about whole rollouts in the log of the fleet.
func Record(ctx context.Context, to events.Recorder, all []rollout.Event) {
	for _, e := range all {
		if text := describe(e); text != "" {
			to.Note(ctx, fleet.HubEvent{Kind: fleet.RolloutChanged, Text: text, By: e.By,
				Organization: e.Organization})
		}
	}
}

// targets describes the targets of a rollout, sorted by wave and name.
func (s Service) targets(r *rollout.Rollout) []document.RolloutTarget {
	out := []document.RolloutTarget{}
	for id, m := range r.Members {
		t, _, _ := s.Targets.Get(string(id))
		out = append(out, document.RolloutTarget{ID: id, Name: t.Name, Wave: r.Plan.Waves[m.Wave].Name,
			State: string(m.State), Granted: m.Granted, Why: m.Why})
	}
	slices.SortFunc(out, func(a, b document.RolloutTarget) int {
		return cmp.Or(cmp.Compare(r.Members[a.ID].Wave, r.Members[b.ID].Wave), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// documentOf describes a rollout.
func documentOf(r *rollout.Rollout, held bool, up int64) document.Rollout {
	branch, _, _ := strings.Cut(r.Plan.Lane, " ")
	d := document.Rollout{ID: r.ID, Branch: branch, Strategy: r.Plan.Strategy.Name, Cause: r.Plan.Cause,
		Phase: string(r.Phase), Why: r.Why, By: r.By, Created: r.At, Wave: r.Wave, Targets: map[string]int{},
		WorstCase: r.WorstCase(), Held: held, Gates: gateDocuments(r, up), Waits: r.Waits()}
	for i, w := range r.Plan.Waves {
		size, ready, limit := r.Progress(i)
		d.Waves = append(d.Waves, document.RolloutWave{Name: w.Name, Targets: size, Ready: ready, MaxUnavailable: limit,
			Bake: w.Bake})
	}
	for _, m := range r.Members {
		d.Targets[string(m.State)]++
	}
	for _, c := range r.Plan.Changes {
		if !slices.Contains(d.Parts, c.Part) {
			d.Parts = append(d.Parts, c.Part)
		}
	}
	return d
}
