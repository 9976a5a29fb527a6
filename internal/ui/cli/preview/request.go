package preview

import (
	"encoding/json"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// planRequest compiles a repository for the targets of the fleet, which it adds to the source.
func planRequest(s *cli.Session, src *workspace.Source,
	enrolled fleet.EnrolledTargets) (r document.RolloutPlanRequest, err error) {
	if src.Prefix != "." {
		return r, cli.Refuse("Move fettle.hcl to the top of the git repository",
			"cannot plan a rollout: the repository of a fleet has its main file at the top, and here it is in "+src.Prefix)
	}
	plain := src.Tree
	src.Tree, src.Enrolled = workspace.EnrolledTree(plain, enrolled), true
	targets, err := cli.Inventory(s, src)
	if err != nil {
		return r, err
	}
	strategies, ds := compile.Ask(s.App.Language.Queries, compile.StrategiesQuery{About: src.About()})
	if err := ds.Err(); err != nil {
		return r, err
	}
	compiled, err := assign.Compile(plain, targets, strategies)
	if err != nil {
		return r, err
	}
	if !src.Rev.Dirty {
		r.Commit, r.Subject, r.Time = src.Rev.Commit, src.Rev.Subject, src.Rev.Time
	}
	r.Compiled, err = json.Marshal(compiled)
	return r, err
}
