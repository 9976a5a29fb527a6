package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

// populate adds targets that the repository does not declare to both sides of a comparison: the
// targets of the fleet if there is a hub, otherwise an example for each group that selects by label
// and has no declared target. It returns the examples.
func populate(ctx context.Context, s *cli.Session, sides [2]*workspace.Source) ([]exampleTarget, error) {
	if !hubclient.HubIsNear(s) {
		return exampleSides(s, sides)
	}
	all, err := hubclient.FleetTargets(ctx, s)
	switch {
	case err == nil:
		for _, side := range sides {
			side.Tree, side.Enrolled = workspace.EnrolledTree(side.Tree, all), true
		}
		return nil, nil
	case s.ConnectOpts.Via.Value == cli.ViaHub || hubclient.LoggedIn(s.Printer) || !errors.Is(err, client.ErrStopped):
		return nil, cli.WithHint(err, "Compare examples instead of the fleet's targets: --via ssh")
	}
	fmt.Fprintf(s.App.Stderr, "Enrolled targets are omitted: %s.\n", render.Escape(err.Error()))
	return exampleSides(s, sides)
}

func exampleSides(s *cli.Session, sides [2]*workspace.Source) ([]exampleTarget, error) {
	var vacant [2][]query.Target
	declared := map[string]bool{}
	for i, side := range sides {
		names, err := s.Targets(side)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			declared[n] = true
		}
		found, ds := compile.Ask(s.App.Language.Queries, compile.EmptyGroupsQuery{About: side.About()})
		if err := ds.Err(); err != nil {
			return nil, err
		}
		vacant[i] = found
	}
	groups, labels := examplesOf(vacant, declared)
	if len(groups) == 0 {
		return nil, nil
	}
	var out []exampleTarget
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, exampleTarget{name, groups[name]})
	}
	for i, side := range sides {
		side.Tree, side.Enrolled = workspace.EnrolledTree(side.Tree, fleet.EnrolledWith(labels[i])), true
	}
	return out, nil
}

// examplesOf returns the groups of examples by their name, and the labels of the examples at each
// side. If only one side has a group without targets, the other side gets the same labels. Then only
// the effect of the group differs.
func examplesOf(vacant [2][]query.Target,
	declared map[string]bool) (map[string]string, [2]map[string]map[string]string) {
	groups, labels := map[string]string{}, [2]map[string]map[string]string{{}, {}}
	for i, side := range vacant {
		for _, t := range side {
			name := t.Name
			if declared[name] {
				name = "a-" + name
			}
			groups[name] = strings.Join(t.Groups, ", ")
			labels[i][name] = t.Labels
			if _, own := labels[1-i][name]; !own {
				labels[1-i][name] = t.Labels
			}
		}
	}
	return groups, labels
}

// diffTargets are the targets to compare: one, or all that either side has.
func diffTargets(s *cli.Session, sides [2]*workspace.Source, all bool) ([]string, error) {
	if !all && s.Target == "" {
		t, err := s.ChooseTarget(sides[1])
		return []string{t}, err
	}
	var names []string
	for _, side := range sides {
		more, err := s.Targets(side)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case all:
		return names, nil
	case !slices.Contains(names, s.Target): // one side may lack it: it is new, or gone
		return nil, cli.UnknownTarget(s.Target, names)
	}
	return []string{s.Target}, nil
}

// examplesAmong are the examples that were compared.
func examplesAmong(all []exampleTarget, compared []string) []exampleTarget {
	return slices.DeleteFunc(all, func(e exampleTarget) bool { return !slices.Contains(compared, e.Target) })
}

// comparable adds targets that the repository does not declare, if they are compared.
func comparable(ctx context.Context, s *cli.Session, sides [2]*workspace.Source, every bool) ([]exampleTarget, error) {
	for _, side := range sides {
		if every || s.Target == "" {
			break
		}
		if names, err := s.Targets(side); err != nil || slices.Contains(names, s.Target) {
			return nil, err
		}
	}
	if !every && s.Target == "" {
		return nil, nil
	}
	return populate(ctx, s, sides)
}
