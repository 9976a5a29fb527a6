package apitest

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Rollouts are two rollouts: r1 was rolled back, and r2 is active.
type Rollouts struct{}

// Rollouts implements api.Rollouts.
func (Rollouts) Rollouts(context.Context) ([]document.Rollout, error) {
	wave := func(name string, targets, ready int) document.RolloutWave {
		return document.RolloutWave{Name: name, Targets: targets, Ready: ready, MaxUnavailable: 1}
	}
	return []document.Rollout{
		{ID: "r2", Branch: "main", Strategy: "careful", Cause: "commit 2222222222bb: web: use the new certificate",
			Phase: "active", Created: 1795000000, Wave: 1,
			Waves: []document.RolloutWave{wave("first", 1, 1), wave("rest", 2, 0)},
			Parts: []string{"modules/web"}, Targets: map[string]int{"ready": 1, "granted": 1, "pending": 1}, WorstCase: 1},
		{ID: "r1", Branch: "main", Strategy: "careful", Cause: "commit 1111111111aa: web: enable compression",
			Phase: "rolled-back", Why: "1 of 3 failed, and at most 0 may fail", Created: 1794990000,
			Waves: []document.RolloutWave{wave("first", 1, 0), wave("rest", 2, 0)}, Parts: []string{"modules/web"},
			Targets: map[string]int{"returned": 1, "pending": 2}, WorstCase: 1, Held: true},
	}, nil
}

// Rollout implements api.Rollouts.
func (r Rollouts) Rollout(ctx context.Context, id string) (document.RolloutDetail, error) {
	all, err := r.Rollouts(ctx)
	for _, one := range all {
		if one.ID == id {
			return document.RolloutDetail{Rollout: one, Targets: []document.RolloutTarget{
				{ID: "t00000000000000000000000000000001", Name: "web1", Wave: "first", State: "ready", Granted: 1795000010}},
				Course: &document.RolloutCourse{Targets: 3, Span: 1, Points: []document.RolloutPoint{{At: one.Created},
					{At: 1795000010, Granted: 1}, {At: 1795000030, Granted: 1, Ready: 1}},
					Marks: []document.RolloutMark{{At: 1795000060, Text: "wave rest"}}}}, err
		}
	}
	return document.RolloutDetail{}, fmt.Errorf("%w: %s", rollout.ErrNoRollout, id)
}

// OrderRollout implements api.Rollouts. Only r2 can be changed.
func (Rollouts) OrderRollout(_ context.Context, c rollout.Command) error {
	switch c.Rollout {
	case "r1":
		return &rollout.CommandError{Command: c, Err: errors.New("it is rolled-back")}
	case "r2":
		return nil
	}
	return fmt.Errorf("%w: %s", rollout.ErrNoRollout, c.Rollout)
}
