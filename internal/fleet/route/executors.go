package route

import (
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofExecutors() []Row { return []Row{Look().Row, Work().Row, Run().Row} }

// TargetRun names a run of a target.
type TargetRun struct {
	Target string `path:"target"`
	Run    int    `path:"run"`
	Diff   bool   `query:"diff" does:"true: add the differences of text content, which needs the right operate"`
}

// Run returns one run from the journal of a target.
func Run() (r Route[TargetRun, None, rundoc.Run]) {
	return r.get(access.Read, "/v1/targets/{target}/runs/{run}",
		"Ask the agent of a target for one of its runs: the steps with their results and durations")
}

// Look opens an executor of a target that refuses changes.
func Look() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Read, "/v1/targets/{target}/look", "Open a read-only executor of a target").upgrade()
}

// Work opens an executor of a target that accepts changes.
func Work() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Operate, "/v1/targets/{target}/work",
		"Open an executor of a target: plans, runs, commands, files").upgrade()
}
