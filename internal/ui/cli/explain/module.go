package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func explainModule(ctx context.Context, s *cli.Session, name string) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	target, err := s.ChooseTarget(src)
	if err != nil {
		return err
	}
	all, ds := s.App.Language.Inventory(src.Tree) // not the kept one, which has no modules
	if err := ds.Err(); err != nil {
		return err
	}
	for _, t := range all {
		if t.Name == target {
			return showModules(s.Printer, t, name)
		}
	}
	return cli.Refuse("List them: fettle validate",
		fmt.Sprintf("cannot explain the module %q: the repository has no target %q", name, target))
}

// showModules explains all modules of a target that go by a name: theirs, or that of
// their directory.
func showModules(s *cli.Printer, t query.Target, name string) error {
	doc := ExplainDoc{Format: "fettle.explain/2", What: "module " + name}
	var names []string
	for _, u := range t.Uses {
		names = append(names, u.Name)
		if u.Name == name || strings.HasPrefix(u.Name, name+"[") ||
			u.Directory == strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/") {
			doc.Modules = append(doc.Modules, usedModule(t, u))
		}
	}
	if len(doc.Modules) == 0 {
		return cli.Refuse("It has: "+cmp.Or(strings.Join(names, ", "), "none"),
			fmt.Sprintf("cannot explain the module %q: the target %s does not have it.%s", name, t.Name,
				syntax.Suggest(name, names)))
	}
	if s.JSON {
		return s.Document(doc)
	}
	for i, d := range doc.Modules {
		if i > 0 {
			s.Printf("\n")
		}
		showModule(s, d)
	}
	return nil
}

func usedModule(t query.Target, u query.Use) usedModuleDoc {
	d := usedModuleDoc{Module: u.Name, Directory: u.Directory, Version: u.Version, Target: t.Name,
		Given: []givenDoc{}, Errors: t.Errors}
	if e := u.Element; e != nil {
		d.Element, d.Parameters = e.Key, e.Value
	}
	for _, g := range u.From {
		d.Given = append(d.Given, givenDoc{g.By, cli.PlaceText(g.Range)})
	}
	need := func(module string, n query.Need) needDoc {
		out := needDoc{Module: module, Level: n.Level, Version: n.Version, Source: cli.PlaceText(n.Range)}
		if n.Layer {
			out.Layer = n.By
		}
		return out
	}
	for _, n := range u.Needs {
		d.Needs = append(d.Needs, need(n.Name, n))
	}
	for _, other := range t.Uses {
		for _, n := range other.Needs {
			if n.Name == u.Name {
				d.NeededBy = append(d.NeededBy, need(other.Name, n))
			}
		}
	}
	return d
}

func showModule(s *cli.Printer, d usedModuleDoc) {
	s.Printf("module %s of %s\n", render.Escape(d.Module), render.Escape(d.Target))
	var given []string
	for _, g := range d.Given {
		given = append(given, g.By+", "+g.Source)
	}
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "  directory", Value: d.Directory},
		{Name: "  element", Value: d.Element},
		{Name: "  parameters", Value: d.Parameters},
		{Name: "  version", Value: d.Version},
		{Name: "  given by", Value: strings.Join(given, "\n")},
		{Name: "  needs", Value: needsText(d.Needs)},
		{Name: "  needed by", Value: needsText(d.NeededBy)},
		{Name: "  errors", Value: strings.Join(d.Errors, "\n")},
	})
}

func needsText(list []needDoc) string {
	var out []string
	for _, n := range list {
		how := n.Level
		if n.Version != "" {
			how += ", version " + n.Version
		}
		if n.Layer != "" {
			how += ", a layer of the " + n.Layer
		}
		out = append(out, fmt.Sprintf("%s (%s), %s", n.Module, how, n.Source))
	}
	return strings.Join(out, "\n")
}
