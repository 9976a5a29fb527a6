package leader

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
)

// noCommit is the commit of files without a commit.
const noCommit = "(no commit)"

// Preview returns the rollouts that a compiled commit would cause. It works on each hub, and changes nothing. The
// commit counts as signed by the signer of the newest assignment.
func (l *Leader) Preview(ctx context.Context, r document.RolloutPlanRequest) (document.RolloutPlan, error) {
	var c assign.Compiled
	if err := json.Unmarshal(r.Compiled, &c); err != nil {
		return document.RolloutPlan{}, &api.Refusal{Status: api.BadRequest,
			Why:  "cannot read the compiled repository: " + err.Error(),
			Hint: "Use the version of fettle that the hub has"}
	}
	plan, _, err := l.Decide(ctx, c, fleet.Revision{Commit: r.Commit, Time: r.Time, Subject: r.Subject})
	for i := range plan.Rollouts {
		if r.Commit == "" {
			plan.Rollouts[i].Cause = "files without a commit"
		}
	}
	return plan, err
}

// Decide is Preview with the assignments that the commit desires for the targets. Only the commit, the time and the
// subject of r count.
func (l *Leader) Decide(ctx context.Context, c assign.Compiled,
	r fleet.Revision) (plan document.RolloutPlan, all []assign.Desired, err error) {
	select {
	case l.previews <- struct{}{}:
		defer func() { <-l.previews }()
	case <-ctx.Done():
		return plan, nil, ctx.Err()
	}
	in, known := l.input()
	if !known {
		return plan, nil, &api.Refusal{Status: api.Conflict, Why: "this hub has not read the branch of the fleet yet",
			Hint: "Try again. See the state of the repository: fettle status --fleet"}
	}
	seen := l.see(ctx)
	targets, err := seen.targets()
	if err != nil {
		return plan, nil, err
	}
	head, commit := in.Refs[in.Branch].Commit, cmp.Or(r.Commit, noCommit)
	contents := c.Contents(fleet.Revision{Repository: l.Repository.Repository().Name, Commit: commit, Time: r.Time,
		Subject: r.Subject, Signer: assign.LastSigner(in.Previous)}, in.Targets)
	contents.Limits = in.DeclaredLimits() // of the present commit
	in.Refs[in.Branch], in.Revisions[commit] = assign.Ref{Commit: commit}, contents
	contents.Strategies = in.Strategies()
	if in.Zones, err = seen.zones(in); err != nil {
		return plan, nil, err
	}
	f := rollouts.Fleet{Now: in.Now, Branch: in.Branch, Head: contents, Targets: targets,
		Foreign: l.foreign, Observed: &rollouts.Observed{}, Ready: map[string]map[fleet.TargetID]bool{}}
	f.Versions = assign.Versions{}
	for _, c := range in.Revisions {
		f.Versions.Learn(c)
	}
	for _, module := range rollouts.ReadyModules(contents) {
		if f.Ready[module], err = l.Ready(ctx, module); err != nil {
			return plan, nil, err
		}
	}
	plan, all, err = l.Rollouts.Preview(ctx, f, in)
	plan.Head, plan.Commit = head, r.Commit
	return plan, all, err
}

// input returns the input of a computation on any hub. Only the hub that leads has the compiled commits of pins.
func (l *Leader) input() (in assign.Input, known bool) {
	branch := l.Repository.Repository().Branch
	_, _, known = l.Records.Refs.Get(records.RefKey(branch))
	epoch, _, _ := l.Records.Epochs.Get(records.EpochKey)
	s := assign.NewState(epoch.Number, branch)
	l.tellAll(s.Fold)
	l.mu.Lock()
	revisions := l.out.Revisions()
	l.mu.Unlock()
	if revisions = maps.Clone(revisions); revisions == nil {
		revisions = map[string]assign.Contents{}
	}
	return s.Input(l.Now().Unix(), revisions), known
}
