package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/scopes"
	"fettle.dev/fettle/internal/ui/render"
)

// explainScope shows why a scope has its verdict. Without a hub, it shows the declaration in the repository.
func explainScope(ctx context.Context, s *cli.Session, id string) error {
	if hubclient.Reachable(s.Printer) {
		return scopes.Explain(ctx, s.Printer, id)
	}
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return scopes.Explain(ctx, s.Printer, id) // neither a hub nor a repository: its error names the hub
	}
	defer src.Repo.Close()
	all, ds := compile.Ask(s.App.Language.Queries, compile.ScopesQuery{About: compile.About{Tree: src.Tree}})
	if err := ds.Err(); err != nil {
		return err
	}
	var ids []string
	for _, x := range all.Scopes {
		if x.ID() == id {
			return showScope(s.Printer, x)
		}
		ids = append(ids, x.ID())
	}
	return cli.Refuse("It has: "+cmp.Or(strings.Join(ids, ", "), "none"),
		fmt.Sprintf("cannot explain %q: the repository does not declare this scope.%s", id, syntax.Suggest(id, ids)))
}

func showScope(s *cli.Printer, x query.Scope) error {
	d := scopeDoc{Scope: x.ID(), Source: x.Source, Parent: x.Parent, Domain: x.Domain, Checks: []string{},
		Tasks: []string{}, Members: append(append([]string{}, x.Targets...), x.Scopes...)}
	declared := d.Source
	if e := x.Element; e != nil {
		d.Block, d.Element, d.Parameters = e.Block, e.Key, e.Value
		declared = fmt.Sprintf("%s: element %q of for_each of %q", d.Source, e.Key, e.Block)
	}
	for _, c := range x.Checks {
		d.Checks = append(d.Checks, c.Name)
	}
	for _, t := range x.Tasks {
		d.Tasks = append(d.Tasks, t.Name)
	}
	if s.JSON {
		return s.Document(ExplainDoc{Format: "fettle.explain/2", What: "scope " + d.Scope, Scope: &d})
	}
	s.Printf("scope %s\n", render.Escape(d.Scope))
	s.Style().Pairs(s.App.Stdout, []render.Pair{
		{Name: "  declared", Value: declared},
		{Name: "  parameters", Value: d.Parameters},
		{Name: "  parent", Value: d.Parent},
		{Name: "  domain", Value: d.Domain},
		{Name: "  members", Value: strings.Join(d.Members, ", ")},
		{Name: "  checks", Value: strings.Join(d.Checks, ", ")},
		{Name: "  tasks", Value: strings.Join(d.Tasks, ", ")},
	})
	s.Printf("\nOnly a hub has its verdict: fettle login https://HOST:PORT\n")
	return nil
}
