package route

import (
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofExecutors() []Row {
	return []Row{Look().Row, Work().Row, Run().Row, Runs().Row, Drift().Row,
		RollbackPlan().Row}
}

// TargetRun names a run of a target.
type TargetRun struct {
	Target string `path:"target"`
	Run    int    `path:"run"`
	Diff   bool   `query:"diff" does:"true: add the differences of text content, which needs the right operate"`
}

// Run returns one run from the journal of a target.
func Run() (r Route[TargetRun, None, rundoc.Run]) {
	return r.get(access.Read, "/v1/targets/{target}/runs/{run}",
		"Ask the agent of a target for one of its runs: the steps with their results and durations").perTarget()
}

// RunsQuery names a target, and selects its runs.
type RunsQuery struct {
	Target string `path:"target"`
	Offset int    `query:"offset" does:"skip this number of items"`
	Limit  int    `query:"limit" does:"return at most this number of items"`
}

// Runs returns the runs from the journal of a target.
func Runs() (r Route[RunsQuery, None, rundoc.Runs]) {
	return r.get(access.Read, "/v1/targets/{target}/runs",
		"Ask the agent of a target for its runs, the newest first").perTarget()
}

// TargetDrift names a target whose host is compared.
type TargetDrift struct {
	Target string `path:"target"`
	Diff   bool   `query:"diff" does:"true: add the differences of text content, which needs the right operate"`
}

// Drift returns the differences between the host of a target and its applied state.
func Drift() (r Route[TargetDrift, None, rundoc.Plan]) {
	return r.get(access.Read, "/v1/targets/{target}/drift",
		"Let the agent of a target compare the host with its applied state").perTarget()
}

// RollbackPlan returns the plan of a rollback, which changes nothing.
func RollbackPlan() (r Route[TargetRun, None, rundoc.Plan]) {
	return r.get(access.Operate, "/v1/targets/{target}/runs/{run}/rollback",
		"Let the agent of a target plan a rollback to the state after a run; run 0 is the origin").perTarget()
}

// Look opens an executor of a target that refuses changes.
func Look() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Read, "/v1/targets/{target}/look", "Open a read-only executor of a target").upgrade().perTarget()
}

// Work opens an executor of a target that accepts changes.
func Work() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Operate, "/v1/targets/{target}/work",
		"Open an executor of a target: plans, runs, commands, files").upgrade().perTarget()
}
