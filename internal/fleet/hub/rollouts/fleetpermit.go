package rollouts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	permits "fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// stableWord means the content of the last completed rollout.
const stableWord = "stable"

// checkPermit refuses a permit that none of the targets accepts. It cannot check which signers the targets trust.
func checkPermit(r document.FleetRollbackRequest, repository string, targets []fleet.Target, now int64) error {
	if r.Permit == "" {
		return nil
	}
	permit, _, err := permits.ReadPermit(r.Permit)
	if err == nil && r.To == stableWord {
		err = errors.New("a permit is for one commit, and stable content can be of several commits")
	}
	if err == nil {
		for _, t := range targets {
			if t.Standing != fleet.Active {
				continue
			}
			if err = permit.For(repository, r.To, t.Name, t.Labels, now); err == nil {
				break
			}
		}
	}
	if err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot roll back: " + err.Error(),
			Hint: "Sign a permit for the commit: fettle fleet rollback MODULE --to COMMIT --permit"}
	}
	return nil
}

// retry releases rollouts of a commit that failed. Otherwise the content to which the fleet returns would be held, too.
func (l *Log) retry(ctx context.Context, n assign.Replacement, to events.Recorder) (ids []string, err error) {
	for _, id := range l.failed(n) {
		changed, err := l.Order(ctx, rollout.Command{Action: rollout.ToRelease, Rollout: id, By: n.By, Why: n.Reason}, n.At)
		if Record(ctx, to, changed); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// failed returns the rollouts of a commit because of which content of a part is held.
func (l *Log) failed(n assign.Replacement) (out []string) {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.shown.sync()
	for _, r := range l.shown.state.All() {
		cause := strings.TrimPrefix(r.Plan.Cause, "rollback to ")
		if strings.HasPrefix(cause, fmt.Sprintf("commit %.12s", n.Commit)) &&
			slices.ContainsFunc(r.Plan.Changes, func(c rollout.Change) bool {
				return (n.Part == assign.AllParts || c.Part == n.Part) && l.shown.state.HeldBy(r.Plan.Lane, c) == r.ID
			}) {
			out = append(out, r.ID)
		}
	}
	return out
}
