package repository

import (
	"context"
	"maps"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// WorkTreeName is the name of the files without a commit, for users.
const WorkTreeName = "the files as they are"

// diffFleet compares every target of either revision.
func diffFleet(ctx context.Context, s *cli.Session, sides [2]*workspace.Source, doc FleetDiffDoc) error {
	g, err := fleetChanges(ctx, s, sides)
	if err != nil {
		return err
	}
	doc.Format, doc.Targets, doc.Groups = "fettle.fleetdiff/1", g.Targets(), g.Sorted()
	return showFleetDiff(s.Printer, doc)
}

// FleetChanges returns the differences of all targets of both sides, the largest first.
func FleetChanges(ctx context.Context, s *cli.Session, sides [2]*workspace.Source) ([]fleetdiff.Diff, error) {
	g, err := fleetChanges(ctx, s, sides)
	if err != nil {
		return nil, err
	}
	return g.Sorted(), nil
}

// fleetChanges compares all targets of both sides.
func fleetChanges(ctx context.Context, s *cli.Session, sides [2]*workspace.Source) (*fleetdiff.Groups, error) {
	in, err := s.Input(ctx, sides[1].Tree, "")
	if err != nil {
		return nil, err
	}
	g := &fleetdiff.Groups{}
	if s.App.Language.Diff == nil || !diffTogether(s.Printer, sides, in, g) {
		err = diffApart(s, sides, in, g)
	}
	return g, err
}

// diffTogether compares two revisions that are compiled at once. It returns false after an error; g
// then contains the targets before the error.
func diffTogether(s *cli.Printer, sides [2]*workspace.Source, in compile.Input, g *fleetdiff.Groups) bool {
	names, wrong := s.App.Language.Names(sides[0].Tree, sides[1].Tree)
	if wrong[0].HasErrors() || wrong[1].HasErrors() {
		return false
	}
	for found, ds := range s.App.Language.Diff(sides[0].Tree, in, inEither(names)) {
		if ds.HasErrors() {
			return false
		}
		for _, d := range found {
			g.Add(d.Target, d.Changes)
		}
	}
	return true
}

// inEither are the targets of two revisions, by name.
func inEither(names [2][]string) []compile.Compared {
	has := map[string][2]bool{}
	for i := range names {
		for _, n := range names[i] {
			h := has[n]
			h[i] = true
			has[n] = h
		}
	}
	var out []compile.Compared
	for _, n := range slices.Sorted(maps.Keys(has)) {
		out = append(out, compile.Compared{Target: n, Has: has[n]})
	}
	return out
}

// diffChunk is how many targets are compared at a time, which bounds memory. It
// is one question to a compiler, so that each side keeps its own.
const diffChunk = 50

// diffApart compares the lists of each revision, for the targets that are not
// gathered yet.
func diffApart(s *cli.Session, sides [2]*workspace.Source, in compile.Input, g *fleetdiff.Groups) error {
	var names [2][]string
	var err error
	for i, side := range sides {
		if names[i], err = s.Targets(side); err != nil {
			return err
		}
	}
	targets := inEither(names)
	for chunk := range slices.Chunk(targets[min(g.Targets(), len(targets)):], diffChunk) {
		lists, ds := bothLists(s.Printer, sides, in, chunk)
		if err := ds.Err(); err != nil {
			return err
		}
		for _, t := range chunk {
			g.Add(t.Target, step.Diff(lists[0][t.Target], lists[1][t.Target]))
		}
	}
	return nil
}

// bothLists compiles targets at both revisions at the same time.
func bothLists(s *cli.Printer, sides [2]*workspace.Source, in compile.Input,
	targets []compile.Compared) ([2]map[string]step.List, diag.List) {
	var lists [2]map[string]step.List
	var wrong [2]diag.List
	var wait sync.WaitGroup
	for i, side := range sides {
		var here []string
		for _, t := range targets {
			if t.Has[i] {
				here = append(here, t.Target)
			}
		}
		wait.Go(func() {
			own := in
			own.Tree = side.Tree
			var members []compile.Member
			members, wrong[i] = s.Members(own, here, true)
			lists[i] = map[string]step.List{}
			for _, m := range members {
				lists[i][m.Target] = m.List
			}
		})
	}
	wait.Wait()
	return lists, distinct(append(wrong[0], wrong[1]...))
}
