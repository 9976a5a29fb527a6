package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
)

// compileChild is the word that makes this program a compiler with limits.
const compileChild = "compile-child"

// programChild is the word that makes this program a sandbox for one of a
// repository's.
const programChild = "program-child"

// language is the front half for the command line. Repositories are compiled in one child process,
// tests in several.
func language(c *limited.Compiler, more, many *limited.Pool) cli.Language {
	return cli.Language{
		Limit: func(timeout time.Duration, memory int64) {
			c.Limit(timeout, memory)
			more.Limit(timeout, memory)
			many.Limit(timeout, memory)
		},
		Secrets: func(ids func() (vault.Identities, error)) {
			of := func(tree repo.Tree) child.Vault { return vault.New(tree, ids) }
			c.Secrets(of)
			many.Secrets(of)
		},
		Prepare: c.Prepare,
		Compile: c.Compile,
		Many:    many.Compile,
		Fleet:   more.Fleet,
		Names:   more.Names,
		Diff:    more.Diff,
		Targets: func(tree repo.Tree) (names []string, ds diag.List) {
			list, ds := inventory(c, tree)
			for _, t := range list {
				names = append(names, t.Name)
			}
			return names, ds
		},
		Inventory:   func(tree repo.Tree) ([]query.Target, diag.List) { return inventory(c, tree) },
		Format:      func(path string, src []byte) ([]byte, diag.List) { return syntax.Format(src, path) },
		Kinds:       compile.Kinds,
		OwnKinds:    c.OwnKinds,
		Lookups:     c.Lookups,
		Generators:  c.Generators,
		EmptyGroups: c.EmptyGroups,
		Schema:      c.Schema,
		Variables: func(in compile.Input, name string) ([]cli.Variable, diag.List) {
			found, ds := c.Explain(in, name)
			return variables(found), ds
		},
		CallAction:  many.CallAction,
		Runnable:    c.Runnable,
		CallCommand: c.CallCommand,
		Tests:       c.Tests,
		RunTest:     more.RunTest,
	}
}

// inventory is the targets by name.
func inventory(c *limited.Compiler, tree repo.Tree) ([]query.Target, diag.List) {
	list, ds := c.Targets(tree)
	slices.SortFunc(list, func(a, b query.Target) int { return cmp.Compare(a.Name, b.Name) })
	return list, ds
}

func variables(found []eval.Explained) []cli.Variable {
	var out []cli.Variable
	for _, e := range found {
		v := cli.Variable{Module: e.Module, Name: e.Name, Type: e.Type, Value: e.Value, Source: place(e.Range), Layers: []cli.Layer{}}
		for _, l := range e.Layers {
			v.Layers = append(v.Layers, cli.Layer{Name: l.Name, Value: l.Value, Merge: l.Merge, Source: place(l.Range)})
		}
		out = append(out, v)
	}
	return out
}

// place is where a range begins, as file:line.
func place(r diag.Range) string {
	if r.Start.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Start.Line)
}
