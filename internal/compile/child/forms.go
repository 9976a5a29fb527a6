package child

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/repo"
)

// form is the encoding of one type of query and of its answer.
type form struct {
	encode func(query any) (question, bool) // false for another type
	serve  func(*compile.Repository, question) *writer
	read   func(side, *reader) (any, diag.List, error)
	whole  bool
}

// codec is a form with its types.
type codec[Q compile.Query[A], A any] struct {
	encode func(Q) question // without its number
	// serve answers in the child.
	serve func(*compile.Repository, question) (A, diag.List)
	write func(*writer, A)
	read  func(*reader, repo.Tree) A
	// whole means that an answer with errors has only diagnostics.
	whole bool
	// finish adds secrets of the holder to an answer; nil: none.
	finish func(*secrets, *A) error
}

func (c codec[Q, A]) form() form {
	return form{
		encode: func(query any) (question, bool) {
			q, ok := query.(Q)
			if !ok {
				return question{}, false
			}
			return c.encode(q), true
		},
		serve: func(r *compile.Repository, q question) *writer {
			w := &writer{}
			a, ds := c.serve(r, q)
			if w.diags(ds); !c.whole || !ds.HasErrors() {
				c.write(w, a)
			}
			return w
		},
		read:  c.answer,
		whole: c.whole,
	}
}

func (c codec[Q, A]) answer(of side, r *reader) (any, diag.List, error) {
	ds := r.diags()
	if c.whole && (r.err != nil || ds.HasErrors()) {
		return nil, ds, r.end()
	}
	a := c.read(r, of.tree)
	if err := r.end(); err != nil {
		return nil, nil, err
	}
	if c.finish != nil {
		if err := c.finish(of.secrets, &a); err != nil {
			return nil, nil, err
		}
	}
	return a, ds, nil
}

// firstForm is the number of the first form: smaller numbers are questions about several targets or
// revisions.
const firstForm = 3

// forms returns the forms of all queries. The number of a query is its position.
func forms() []form {
	return []form{
		codec[compile.ListQuery, compile.Result]{
			func(q compile.ListQuery) question { return question{in: q.Input} },
			func(r *compile.Repository, q question) (compile.Result, diag.List) { return r.Compile(q.in) },
			writeResult, readResult, true, addSecrets,
		}.form(),
		about[compile.TargetsQuery]((*compile.Repository).Targets, writeTargets, readTargets),
		about[compile.StrategiesQuery]((*compile.Repository).Strategies, writeDocument, readStrategies),
		about[compile.LocksQuery]((*compile.Repository).Locks, writeDocument, readLocks),
		about[compile.StatesQuery]((*compile.Repository).States, writeDocument, readDeclaredStates),
		about[compile.WaitsQuery]((*compile.Repository).Waits, writeDocument, readWaits),
		about[compile.ScopesQuery]((*compile.Repository).Scopes, writeDocument, readScopes),
		about[compile.EmptyGroupsQuery]((*compile.Repository).EmptyGroups, writeTargets, readTargets),
		about[compile.OwnKindsQuery]((*compile.Repository).OwnKinds, writeKinds, readKinds),
		about[compile.LookupsQuery]((*compile.Repository).Lookups, writeLookups, readLookups),
		about[compile.RunnableQuery]((*compile.Repository).Runnable, writeDocument, readDocument),
		about[compile.TestsQuery]((*compile.Repository).Tests, (*writer).texts, (*reader).texts),
		codec[compile.GeneratorsQuery, []generator.Run]{
			func(q compile.GeneratorsQuery) question { return question{in: q.Input} },
			func(r *compile.Repository, q question) ([]generator.Run, diag.List) { return r.Generators(q.in) },
			writeRuns, alone(readRuns), false, nil,
		}.form(),
		codec[compile.VariablesQuery, []eval.Explained]{
			func(q compile.VariablesQuery) question { return question{in: q.Input, name: q.Name} },
			func(r *compile.Repository, q question) ([]eval.Explained, diag.List) { return r.Explain(q.in, q.name) },
			writeVariables, alone(readVariables), false, nil,
		}.form(),
		codec[compile.SchemaQuery, []byte]{
			func(q compile.SchemaQuery) question { return question{name: string(q.Part)} },
			func(r *compile.Repository, q question) ([]byte, diag.List) { return r.Schema(schema.Part(q.name)) },
			func(w *writer, text []byte) { w.text(string(text)) }, alone(readJSON), true, nil,
		}.form(),
		codec[compile.TestQuery, compile.Verdict]{
			func(q compile.TestQuery) question { return question{name: q.ID} },
			func(r *compile.Repository, q question) (compile.Verdict, diag.List) { return r.RunTest(q.name), nil },
			writeVerdict, alone(readVerdict), false, nil,
		}.form(),
		codec[compile.CommandQuery, []query.Part]{
			func(q compile.CommandQuery) question { return question{name: q.Name, names: wordsOf(q.Params)} },
			func(r *compile.Repository, q question) ([]query.Part, diag.List) {
				return r.CallCommand(q.name, paramsOf(q.names))
			},
			writeDocument[[]query.Part], alone(readDocument[[]query.Part]), false, nil,
		}.form(),
		codec[compile.ActionQuery, compile.ActionCall]{
			encodeCall, serveCall, writeCall, readCall, true, addCallSecrets,
		}.form(),
	}
}

// about returns the form of a query without input.
func about[Q compile.Query[A], A any](
	serve func(*compile.Repository) (A, diag.List), write func(*writer, A), read func(*reader) A,
) form {
	return codec[Q, A]{
		func(Q) question { return question{} },
		func(r *compile.Repository, _ question) (A, diag.List) { return serve(r) },
		write, alone(read), false, nil,
	}.form()
}

// addSecrets adds the secrets of a list, encrypted.
func addSecrets(s *secrets, res *compile.Result) (err error) {
	res.Secrets, err = s.bundle(res.List)
	return err
}

func addCallSecrets(s *secrets, call *compile.ActionCall) error { return addSecrets(s, &call.Result) }

// alone is for an answer that does not refer to files of the repository.
func alone[A any](read func(*reader) A) func(*reader, repo.Tree) A {
	return func(r *reader, _ repo.Tree) A { return read(r) }
}

// writeVerdict omits the ID, which the holder knows.
func writeVerdict(w *writer, v compile.Verdict) {
	w.diags(v.Failures)
	w.rng(v.Range)
	w.text(v.Golden)
	w.text(v.List)
}

func readVerdict(r *reader) compile.Verdict {
	return compile.Verdict{Failures: r.diags(), Range: r.rng(), Golden: r.text(), List: r.text()}
}
