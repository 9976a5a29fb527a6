package child_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
)

// asked is a query with the function of package compile that answers it.
type asked struct {
	query  any
	answer func(*compile.Repository) (any, diag.List)
}

func ofTarget[A any](query any, answer func(*compile.Repository,
	compile.Input) (A, diag.List), in compile.Input) asked {
	return asked{query, func(r *compile.Repository) (any, diag.List) { return answer(r, in) }}
}

func ofAll[A any](query any, answer func(*compile.Repository) (A, diag.List)) asked {
	return asked{query, func(r *compile.Repository) (any, diag.List) { return answer(r) }}
}

// queries returns queries of each type about a repository. The schema takes long, so it is only for
// repositories with kinds.
func queries(r *compile.Repository, in compile.Input) []asked {
	params := map[string]string{"x": "1 =", "to": "a b"}
	out := []asked{
		ofTarget(compile.ListQuery{Input: in}, (*compile.Repository).Compile, in),
		ofTarget(compile.GeneratorsQuery{Input: in}, (*compile.Repository).Generators, in),
		ofAll(compile.TargetsQuery{}, (*compile.Repository).Targets),
		ofAll(compile.StrategiesQuery{}, (*compile.Repository).Strategies),
		ofAll(compile.LocksQuery{}, (*compile.Repository).Locks),
		ofAll(compile.StatesQuery{}, (*compile.Repository).States),
		ofAll(compile.WaitsQuery{}, (*compile.Repository).Waits),
		ofAll(compile.ScopesQuery{}, (*compile.Repository).Scopes),
		ofAll(compile.EmptyGroupsQuery{}, (*compile.Repository).EmptyGroups),
		ofAll(compile.OwnKindsQuery{}, (*compile.Repository).OwnKinds),
		ofAll(compile.LookupsQuery{}, (*compile.Repository).Lookups),
		ofAll(compile.RunnableQuery{}, (*compile.Repository).Runnable),
		ofAll(compile.TestsQuery{}, (*compile.Repository).Tests),
		{compile.VariablesQuery{Input: in}, func(r *compile.Repository) (any, diag.List) { return r.Explain(in, "") }},
		ofTest("missing"),
		{compile.CommandQuery{Name: "rolling", Params: params}, func(r *compile.Repository) (any, diag.List) {
			return r.CallCommand("rolling", params)
		}},
		ofAction(in, "status", params, false),
	}
	if own, _ := r.OwnKinds(); len(own) > 0 {
		out = append(out, asked{compile.SchemaQuery{Part: schema.Module}, func(r *compile.Repository) (any, diag.List) {
			return r.Schema(schema.Module)
		}})
	}
	ids, _ := r.Tests()
	for _, id := range ids {
		out = append(out, ofTest(id))
	}
	all, _ := r.Runnable()
	for _, a := range all.Actions {
		out = append(out, ofAction(in, a.Name, nil, true))
	}
	return out
}

func ofTest(id string) asked {
	return asked{compile.TestQuery{ID: id}, func(r *compile.Repository) (any, diag.List) { return r.RunTest(id), nil }}
}

func ofAction(in compile.Input, name string, params map[string]string, dry bool) asked {
	q := compile.ActionQuery{Input: in, Name: name, Params: params, DryRun: dry}
	return asked{q, func(r *compile.Repository) (any, diag.List) {
		return r.CallAction(in, name, params, dry)
	}}
}

// TestSameAnswers: the child's answer to each type of query equals the answer of this process.
func TestSameAnswers(t *testing.T) {
	types := map[string]bool{}
	for name, in := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			c, here := connect(t, in.Tree), compile.Open(in.Tree)
			for _, q := range queries(here, in) {
				what := reflect.TypeOf(q.query).Name()
				types[what] = true
				got, ds, err := c.Answer(q.query)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				want, wantDs := q.answer(here)
				same(t, what+": diagnostics", ds, wantDs)
				if !wantDs.HasErrors() {
					same(t, what, comparable(t, got), comparable(t, want))
				}
			}
		})
	}
	if len(types) != child.Forms() {
		t.Errorf("%d types of queries are asked, and there are %d", len(types), child.Forms())
	}
}

// comparable returns an answer with its content instead of references, without the ID of a test,
// which the holder knows.
func comparable(t *testing.T, a any) any {
	switch a := a.(type) {
	case compile.Result:
		found := contents(t, a.Blobs)
		a.Blobs = nil
		return []any{a, found}
	case compile.ActionCall:
		found := contents(t, a.Result.Blobs)
		a.Result.Blobs = nil
		return []any{a, found}
	case compile.Verdict:
		a.ID = ""
		return a
	case []query.OwnKind:
		var out []string
		for _, k := range a {
			out = append(out, fmt.Sprint(k.Name, k.Doc, k.Main, k.Directory, k.Range, documented(k.Attrs),
				documented(k.Outputs)))
		}
		return out
	}
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "null", "[]", 1)
}

// documented returns the fields of attributes that documentation needs.
func documented(list []kind.Attr) (out []string) {
	for _, a := range list {
		out = append(out, fmt.Sprintf("%s %q %t %#v %#v", a.Name, a.Doc, a.Required, a.Type, a.Default))
	}
	return out
}
