package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// run folds events and computes after each change, until ctx ends or an error is final.
func (t *term) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.queue.wake:
		case <-timer.C:
			if t.idles() {
				timer.Reset(rolloutInterval)
				continue
			}
		case <-t.rollouts.changed:
			t.rollouts.changed, t.rollouts.away = nil, nil
			timer.Reset(min(t.rollouts.wait(), next.Sub(t.Now())))
			continue
		}
		for _, e := range t.queue.take() {
			t.state.Fold(e)
		}
		var err error
		if next, err = t.step(ctx); err != nil {
			if errors.Is(err, assignments.ErrDeposed) || ctx.Err() != nil {
				return err
			}
			if t.progress.isStuck(err, time.Now()) {
				return fmt.Errorf("%w: %w", errStuck, err)
			}
			next, t.rollouts.away = t.Now(), nil
			if !errors.Is(err, errOutdated) && !errors.Is(err, assignments.ErrShown) {
				t.Warn("cannot assign: " + err.Error())
				next = next.Add(retryAfter)
			}
		}
		timer.Reset(next.Sub(t.Now()))
	}
}

// retryAfter is the delay of a leader after an error. idleFor is the longest time between two
// computations without an event.
const (
	retryAfter = 5 * time.Second
	idleFor    = 10 * time.Minute
)

// step computes once and makes the result durable. It returns the time of the next computation.
func (t *term) step(ctx context.Context) (next time.Time, err error) {
	now := t.Now()
	if _, _, asked := t.Records.Refs.Get(records.RefKey(t.state.Branch)); !asked {
		return now.Add(idleFor), nil // the first poll is not finished, or no repository is configured
	}
	in := t.state.Input(now.Unix(), t.revisions)
	if err := t.readNeeded(ctx, &in); err != nil {
		return now, err
	}
	t.rollouts.readClock(now, t.Warn)
	turn, err := t.Rollouts.Begin(ctx)
	if err != nil {
		return now, err
	}
	defer turn.End()
	began := time.Now()
	seen := t.see(ctx)
	if in.Plan, err = t.plan(ctx, turn, in, seen); err != nil {
		return now, err
	}
	if in.Zones, err = seen.zones(in); err != nil {
		return now, err
	}
	out := assign.Compute(in)
	t.rollouts.cost = time.Since(began)
	if out.Epoch > t.state.Epoch {
		return now, t.begin(ctx, out.Epoch)
	}
	turn.NameRollouts(out.Alarms)
	out.Alarms = append(out.Alarms, turn.Alarms()...)
	if err := t.store(ctx, turn); err != nil {
		return now, err
	}
	if err := t.write(ctx, out.Assignments); err != nil {
		return now, err
	}
	t.state.ApplyOutput(out)
	if err := t.Rollouts.Compact(ctx); err != nil {
		return now, err
	}
	t.forget(in)
	t.progress.made(time.Now())
	t.alarms.offer(out.Alarms)
	t.computed(out)
	if err := t.declare(ctx, in); err != nil {
		return now, err
	}
	next = now.Add(idleFor)
	if out.Next > 0 && time.Unix(out.Next, 0).Before(next) {
		next = time.Unix(out.Next, 0)
	}
	t.rollouts.due = next
	if (t.rollouts.changed != nil || len(t.rollouts.away) > 0) && now.Add(rolloutInterval).Before(next) {
		next = now.Add(rolloutInterval)
	}
	return next, nil
}

// declare passes the objects that the head declares to their parts of the hub.
func (t *term) declare(ctx context.Context, in assign.Input) error {
	head, ok := in.Revisions[in.Refs[in.Branch].Commit]
	if !ok || head.Error != "" {
		return nil
	}
	t.DeclareLocks(head.Locks)
	t.DeclareWaits(head.Waits)
	t.DeclareScopes(head.Revision, head.Scopes)
	return t.keepLimits(ctx, head.Limits)
}
