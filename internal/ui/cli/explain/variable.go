package explain

import (
	"context"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func explainVariable(ctx context.Context, s *cli.Session, name string) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	target, err := s.ChooseTarget(src)
	if err != nil {
		return err
	}
	in, err := s.Input(ctx, src.Tree, target)
	if err != nil {
		return err
	}
	found, ds := compile.Ask(s.App.Language.Queries, compile.VariablesQuery{Input: in, Name: name})
	if err := ds.Err(); err != nil {
		return err
	}
	vars := describeVariables(found)
	if s.JSON {
		return s.Document(ExplainDoc{Format: "fettle.explain/2", What: "var " + name, Variables: vars})
	}
	for i, v := range vars {
		if i > 0 {
			s.Printf("\n")
		}
		showVariable(s.Printer, v)
	}
	return nil
}

func describeVariables(found []eval.Explained) []cli.Variable {
	var out []cli.Variable
	for _, e := range found {
		v := cli.Variable{Module: e.Module, Name: e.Name, Type: e.Type, Value: e.Value, Source: cli.PlaceText(e.Range),
			Layers: []cli.Layer{}}
		for _, l := range e.Layers {
			v.Layers = append(v.Layers, cli.Layer{Name: l.Name, Value: l.Value, Merge: l.Merge, Source: cli.PlaceText(l.Range)})
		}
		out = append(out, v)
	}
	return out
}

func showVariable(s *cli.Printer, v cli.Variable) {
	value := v.Value
	if value == "" {
		value = "(no value)"
	}
	s.Printf("%s = %s\n", render.Escape(v.Name), render.Escape(value))
	pairs := []render.Pair{{Name: "  declared", Value: cli.JoinWords(v.Source, "("+v.Type+", "+v.Module+")")}}
	for i, l := range v.Layers {
		text := cli.JoinWords(l.Value, l.Source)
		if l.Merge != "" {
			text += "  (merged, " + l.Merge + ")"
		}
		if i == len(v.Layers)-1 && l.Merge == "" {
			text += "  (in force)"
		}
		pairs = append(pairs, render.Pair{Name: "  " + l.Name, Value: text})
	}
	s.Style().Pairs(s.App.Stdout, pairs)
}
