package hub_test

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// compiler compiles in this process.
type compiler struct{}

func (compiler) Targets(t repo.Tree) ([]query.Target, diag.List) { return compile.Targets(t) }

func (compiler) Locks(t repo.Tree) ([]source.Lock, diag.List) { return compile.Locks(t) }

func (compiler) States(t repo.Tree) ([]query.DeclaredState, diag.List) {
	return compile.Open(t).States()
}

func (compiler) Scopes(t repo.Tree) (query.Scopes, diag.List) { return compile.Scopes(t) }

func (compiler) Waits(t repo.Tree) (query.Coordination, diag.List) { return compile.Waits(t) }

func (compiler) Strategies(t repo.Tree) ([]query.Strategy, diag.List) { return compile.Strategies(t) }
