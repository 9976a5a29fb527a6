package agent

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// checksFile contains the checks of the applied composition.
const checksFile = agentDir + "/checks.json"

// undosFile contains the undos of tasks of the applied compositions.
const undosFile = agentDir + "/task-undos.json"

// scopesOf returns the access of the agent of a machine to the scopes of its repository.
func scopesOf(s *cli.Printer, m cli.Machine, files host.FS) agent.Scopes {
	if s.App.Agent.Test == nil {
		return agent.Scopes{}
	}
	return agent.Scopes{
		Read: func(tree repo.Tree) (query.Scopes, diag.List) {
			return compile.Ask(s.App.Language.Queries, compile.ScopesQuery{About: compile.About{Tree: tree}})
		},
		Test: func(ctx context.Context, p query.Probe, limit time.Duration) error {
			test, err := p.Step(limit)
			if err != nil {
				return err
			}
			return s.App.Agent.Test(ctx, m, test, limit)
		},
		Memory: &checks.Memory{Files: files, File: checksFile},
		Undos:  &agent.Undos{Files: files, File: undosFile},
	}
}
