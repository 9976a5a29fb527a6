package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func explainTarget(ctx context.Context, s *cli.Session, name string) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	all, ds := s.App.Language.Inventory(src.Tree) // not the kept one, which has no modules
	if err := ds.Err(); err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return showTarget(s.Printer, t)
		}
		names = append(names, t.Name)
	}
	return cli.Refuse("List them: fettle validate",
		fmt.Sprintf("cannot explain the target %q: the repository does not have it.%s", name, syntax.Suggest(name, names)))
}

func showTarget(s *cli.Printer, t query.Target) error {
	d := targetDoc{Target: t.Name, Enrolled: t.Enrolled, Labels: t.Labels, Roles: t.Roles,
		Groups: t.Groups, Environment: t.Environment, Errors: t.Errors}
	for _, u := range t.Uses {
		d.Modules = append(d.Modules, u.Name)
	}
	if t.Range.File != "" { // the implicit target has no block
		d.Source = cli.PlaceText(t.Range)
	}
	declared := d.Source
	if e := t.Element; e != nil {
		d.Block, d.Element, d.Parameters = e.Block, e.Key, e.Value
		declared = fmt.Sprintf("%s: element %q of for_each of target %q", d.Source, e.Key, e.Block)
	}
	if s.JSON {
		return s.Document(ExplainDoc{Format: "fettle.explain/2", What: "target " + t.Name, Target: &d})
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(t.Labels)) {
		labels = append(labels, k+"="+t.Labels[k])
	}
	s.Printf("target %s\n", render.Escape(t.Name))
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "  declared", Value: declared},
		{Name: "  parameters", Value: d.Parameters},
		{Name: "  labels", Value: strings.Join(labels, ", ")},
		{Name: "  roles", Value: strings.Join(t.Roles, ", ")},
		{Name: "  groups", Value: strings.Join(t.Groups, ", ")},
		{Name: "  environment", Value: t.Environment},
		{Name: "  modules", Value: strings.Join(d.Modules, ", ")},
		{Name: "  errors", Value: strings.Join(t.Errors, "\n")},
	})
	s.Printf("\nIts variables: fettle explain var NAME -t %s\n", render.Escape(t.Name))
	return nil
}
