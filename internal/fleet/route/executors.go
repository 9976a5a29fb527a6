package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofExecutors() []Row { return []Row{Look().Row, Work().Row} }

// Look opens an executor of a target that refuses changes.
func Look() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Read, "/v1/targets/{target}/look", "Open a read-only executor of a target").upgrade()
}

// Work opens an executor of a target that accepts changes.
func Work() (r Route[TargetName, document.ExecutorRequest, None]) {
	return r.post(access.Operate, "/v1/targets/{target}/work",
		"Open an executor of a target: plans, runs, commands, files").upgrade()
}
