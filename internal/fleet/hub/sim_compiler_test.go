package hub

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// simCompiler compiles in this process.
type simCompiler struct{}

func (simCompiler) Targets(t repo.Tree) ([]query.Target, diag.List) { return compile.Targets(t) }

func (simCompiler) Scopes(t repo.Tree) (query.Scopes, diag.List) { return compile.Scopes(t) }

func (simCompiler) Waits(t repo.Tree) (query.Coordination, diag.List) { return compile.Waits(t) }

func (simCompiler) Locks(t repo.Tree) ([]source.Lock, diag.List) { return compile.Locks(t) }

func (simCompiler) States(t repo.Tree) ([]query.DeclaredState, diag.List) {
	return compile.Open(t).States()
}

func (simCompiler) Strategies(t repo.Tree) ([]query.Strategy, diag.List) {
	return compile.Strategies(t)
}
