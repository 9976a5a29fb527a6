package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// RolloutID names a rollout.
type RolloutID struct {
	Rollout string `path:"rollout"`
}

// CommitName names a commit: by its hash, by a branch, by a tag, or by the full name of a ref, such as
// refs/pull/12/head. If a target has the commit, 7 digits of the hash are sufficient.
type CommitName struct {
	Commit string `path:"commit"`
}

func ofRollouts() []Row {
	return []Row{Rollouts().Row, PlanRollouts().Row, Rollout().Row, OrderRollout().Row,
		ApproveRollout().Row, JudgeRollout().Row, CommitDifferences().Row}
}

// Rollouts returns all stored rollouts.
func Rollouts() (r Route[None, None, document.RolloutPage]) {
	return r.get(access.Read, "/v1/rollouts", "List the rollouts, newest first")
}

// Rollout returns one rollout and its targets.
func Rollout() (r Route[RolloutID, None, document.RolloutDetail]) {
	return r.get(access.Read, "/v1/rollouts/{rollout}", "Show one rollout and the state of its targets")
}

// OrderRollout changes the course of a rollout.
func OrderRollout() (r Route[RolloutID, document.RolloutRequest, document.Done]) {
	return r.post(access.Operate, "/v1/rollouts/{rollout}/order",
		"Pause, resume, abort or roll back a rollout, end a bake time, skip or retry a target, or release held content")
}

// ApproveRollout consents to the end of the current wave, or rejects the change.
func ApproveRollout() (r Route[RolloutID, document.GateApprovalRequest, document.Done]) {
	return r.post(access.Approve, "/v1/rollouts/{rollout}/approval",
		"Approve or reject a rollout at a gate of its current wave")
}

// JudgeRollout reports the verdict of a program about the current wave.
func JudgeRollout() (r Route[RolloutID, document.VerdictRequest, document.Done]) {
	return r.post(access.Operate, "/v1/rollouts/{rollout}/verdict",
		"Report the verdict of a webhook gate about the current wave of a rollout")
}

// PlanRollouts returns the rollouts that a commit would cause.
func PlanRollouts() (r Route[None, document.RolloutPlanRequest, document.RolloutPlan]) {
	return r.post(access.Read, "/v1/rollouts/plan",
		"Show what a compiled repository would change in the fleet, without a change").readOnly()
}

// CommitDifferences compares the configuration of each target with its configuration at a commit.
func CommitDifferences() (r Route[CommitName, None, document.CommitDifferences]) {
	return r.get(access.Read, "/v1/commits/{commit}/differences",
		"Compile the targets with a commit, and show the changes without making them; write a / in a name as %2F")
}
