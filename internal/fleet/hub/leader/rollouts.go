package leader

import (
	"context"
	"errors"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// plan returns the decision about the time of delivery; nil means at once. Without strategies and open
// rollouts it costs nothing.
func (t *term) plan(ctx context.Context, turn *rollouts.Turn,
	in assign.Input, seen sight) (func([]assign.Desired) assign.Grant, error) {
	head := in.Revisions[in.Refs[in.Branch].Commit]
	head.Strategies, head.Limits = in.Strategies(), in.DeclaredLimits()
	t.rollouts.changed, t.rollouts.away = nil, nil
	if !turn.Needed() && !anyStrategy(head) && !limitsRollouts(head.Limits) {
		return nil, nil
	}
	if t.rollouts.began == 0 {
		t.rollouts.began = in.Now
	}
	targets, err := seen.targets()
	if err != nil {
		return nil, err
	}
	f := rollouts.Fleet{Now: in.Now, Up: t.rollouts.began, Jump: t.rollouts.jump, Branch: in.Branch,
		Head: head, Targets: targets, Observed: &t.rollouts.observed, Foreign: t.foreign,
		Ready: map[string]map[fleet.TargetID]bool{},
		User:  t.userNamed, Versions: t.versions.known}
	for _, module := range rollouts.ReadyModules(head) {
		if f.Ready[module], err = t.Ready(ctx, module); err != nil {
			return nil, err
		}
	}
	return func(all []assign.Desired) assign.Grant {
		grant := turn.Plan(f, all)
		if turn.Open() {
			t.rollouts.changed = seen.changed
		}
		t.rollouts.away = turn.Away()
		return grant
	}, nil
}

// foreign is rollouts.Fleet.Foreign.
func (c Config) foreign(id fleet.TargetID) []records.Content {
	g, _, _ := c.Records.Assignments.Get(string(id))
	return g.Foreign
}

// anyStrategy reports whether changes of a target wait for rollouts.
func anyStrategy(c assign.Contents) bool {
	for _, conf := range c.Targets {
		if conf.Strategy != "" && conf.Strategy != rollout.AtOnce().Name {
			return true
		}
	}
	return false
}

// store stores the decision about rollouts, and records its events.
func (t *term) store(ctx context.Context, turn *rollouts.Turn) error {
	events := turn.Events()
	err := turn.Store(ctx)
	turn.End()
	if errors.Is(err, fleet.ErrConflict) {
		if err := t.Rollouts.Learn(ctx); err != nil {
			return err
		}
		return errOutdated
	}
	if err == nil {
		rollouts.Record(ctx, t.Events, events)
	}
	return err
}

// userNamed returns the user with one of the names. It returns "" if there is none, or more than one.
func (t *term) userNamed(names []string) (found string) {
	for _, name := range names {
		for _, user := range []string{name, strings.ToLower(name)} {
			if _, ok := t.Records.Users.Value(access.UserKey(user)); !ok || user == found {
				continue
			}
			if found != "" {
				return ""
			}
			found = user
		}
	}
	return found
}

// idles reports whether a leader need not decide again now, because it only waits for targets without contact.
func (t *term) idles() bool {
	d := t.rollouts
	return len(d.away) > 0 && d.changed == nil && t.Now().Before(d.due) && !t.IsAnyConnected(d.away)
}
