package main

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// language is the front half as the command line wants it.
func language() cli.Language {
	return cli.Language{
		Compile:   compile.Compile,
		Targets:   targets,
		Format:    func(path string, src []byte) ([]byte, diag.List) { return lang.Format(src, path) },
		Kinds:     sortedKinds,
		Variables: variables,
	}
}

func targets(tree repo.Tree) ([]string, diag.List) {
	list, ds := compile.Targets(tree)
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names, ds
}

func sortedKinds() []kind.Kind {
	all := kinds.All()
	slices.SortFunc(all, func(a, b kind.Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func variables(in compile.Input, name string) ([]cli.Variable, diag.List) {
	found, ds := compile.Explain(in, name)
	var out []cli.Variable
	for _, e := range found {
		v := cli.Variable{Module: e.Module, Name: e.Name, Type: e.Type, Value: e.Value, Source: place(e.Range), Layers: []cli.Layer{}}
		for _, l := range e.Layers {
			v.Layers = append(v.Layers, cli.Layer{Name: l.Name, Value: l.Value, Source: place(l.Range)})
		}
		out = append(out, v)
	}
	return out, ds
}

// place is where a range begins, as file:line.
func place(r diag.Range) string {
	if r.Start.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Start.Line)
}
