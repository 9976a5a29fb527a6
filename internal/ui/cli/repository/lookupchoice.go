package repository

import (
	"context"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// lookups opens the repository, and returns the named lookups, or all of them.
func lookups(ctx context.Context, s *cli.Session, names []string) (*workspace.Source, []source.Lookup, error) {
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, ds := compile.Ask(s.App.Language.Queries, compile.LookupsQuery{About: src.About()})
	err = ds.Err()
	var out []source.Lookup
	for _, l := range all {
		if len(names) == 0 || slices.Contains(names, l.Name) || slices.Contains(names, l.Snapshot()) {
			out = append(out, l)
		}
	}
	for _, n := range names {
		if err == nil && !slices.ContainsFunc(out, func(l source.Lookup) bool {
			return l.Name == n ||
				l.Snapshot() == n
		}) {
			err = cli.Refuse("List them: fettle lookup status", fmt.Sprintf("the repository declares no lookup %q", n))
		}
	}
	if err != nil {
		_ = src.Repo.Close()
		return nil, nil, err
	}
	return src, out, nil
}

// confirmCommands shows the commands that would run on this host, and asks.
func confirmCommands(ctx context.Context, s *cli.Session, list []source.Lookup, yes bool) error {
	any := false
	for _, l := range list {
		if len(l.Command) > 0 {
			any = true
			s.Printf("%s runs %s\n", l.Name, l.Source())
		}
	}
	if !any {
		return nil
	}
	return s.Ask(ctx, yes, "Run these commands here?")
}
