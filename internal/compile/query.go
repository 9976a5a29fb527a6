package compile

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Query is a question about one revision of a repository. A is the type of the answer, which is
// usable only if no diagnostic is an error.
//
// A new query is a type in this file that embeds Gives, and a row in the table of package child. The
// row has the function that answers. It is not a method, because a binary that only asks must not
// contain the language.
type Query[A any] interface {
	Revision() repo.Tree
	zero() A
}

// Gives is the type of the answer to a query.
type Gives[A any] struct{}

func (Gives[A]) zero() (a A) { return a }

// Question is a Query without the type of its answer.
type Question struct {
	Query any
	Tree  repo.Tree
}

// Answerer answers questions, in this process or in another one. The dynamic type of the answer is
// the type A of the query; nil is its zero value.
type Answerer interface {
	Answer(q Question) (any, diag.List)
}

// Ask returns the answer to a query.
func Ask[A any](by Answerer, q Query[A]) (A, diag.List) {
	found, ds := by.Answer(Question{q, q.Revision()})
	a, _ := found.(A)
	return a, ds
}

// About is a revision without further input.
type About struct{ Tree repo.Tree }

// Revision returns the tree.
func (a About) Revision() repo.Tree { return a.Tree }

// Revision returns the tree.
func (in Input) Revision() repo.Tree { return in.Tree }

// The queries about a whole repository.
type (
	TargetsQuery struct {
		About
		Gives[[]query.Target]
	}
	StrategiesQuery struct {
		About
		Gives[[]query.Strategy]
	}
	LocksQuery struct {
		About
		Gives[[]source.Lock]
	}
	// StatesQuery is Repository.States.
	StatesQuery struct {
		About
		Gives[[]query.DeclaredState]
	}
	WaitsQuery struct {
		About
		Gives[query.Coordination]
	}
	ScopesQuery struct {
		About
		Gives[query.Scopes]
	}
	EmptyGroupsQuery struct {
		About
		Gives[[]query.Target]
	}
	OwnKindsQuery struct {
		About
		Gives[[]query.OwnKind]
	}
	LookupsQuery struct {
		About
		Gives[[]source.Lookup]
	}
	RunnableQuery struct {
		About
		Gives[query.Runnable]
	}
	TestsQuery struct {
		About
		Gives[[]string]
	}
	// SchemaQuery is Repository.Schema.
	SchemaQuery struct {
		About
		Gives[[]byte]
		Part schema.Part
	}
	// TestQuery is Repository.RunTest.
	TestQuery struct {
		About
		Gives[Verdict]
		ID string
	}
	// CommandQuery is Repository.CallCommand.
	CommandQuery struct {
		About
		Gives[[]query.Part]
		Name   string
		Params map[string]string
	}
)

// The queries about one target.
type (
	// ListQuery is Repository.Compile.
	ListQuery struct {
		Input
		Gives[Result]
	}
	GeneratorsQuery struct {
		Input
		Gives[[]generator.Run]
	}
	// VariablesQuery is Repository.Explain.
	VariablesQuery struct {
		Input
		Gives[[]eval.Explained]
		Name string
	}
	// ActionQuery is Repository.CallAction.
	ActionQuery struct {
		Input
		Gives[ActionCall]
		Name   string
		Params map[string]string
		DryRun bool
	}
)
