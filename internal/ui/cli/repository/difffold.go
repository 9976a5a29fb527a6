package repository

import (
	"cmp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/step"
)

// fleetGroups gathers differences that are the same.
type fleetGroups struct {
	byKey map[string]*FleetDiff
	order []*FleetDiff
	seen  int // targets, also targets without a difference
}

func (g *fleetGroups) add(target string, changes []step.Change) {
	g.seen++
	text := withoutName(strings.TrimSuffix(step.FormatDiff(changes), "\n"), target)
	if text == "" {
		return // at most the order is another one
	}
	g.join(&FleetDiff{Targets: []string{target}, Lines: strings.Split(text, "\n")})
}

// join adds targets with a difference to the targets with the same difference.
func (g *fleetGroups) join(more *FleetDiff) {
	key := maskDigests(strings.Join(more.Lines, "\n"))
	d := g.byKey[key]
	if d == nil {
		g.byKey[key], g.order = more, append(g.order, more)
		return
	}
	d.Targets = append(d.Targets, more.Targets...)
	for i, line := range more.Lines {
		if d.Lines[i] != line {
			d.Lines[i] = maskDigests(line)
		}
	}
}

// sorted returns the differences, the largest first. A word that equals the name of a target counts as
// this name only if other targets have their names at the same place; otherwise it can be any word,
// such as a directory, and is kept.
func (g *fleetGroups) sorted() []FleetDiff {
	count := g.countLines()
	settled := &fleetGroups{byKey: map[string]*FleetDiff{}}
	for _, d := range g.order {
		if len(d.Targets) == 1 {
			for i, line := range d.Lines {
				d.Lines[i] = likeOthers(line, d.Targets[0], count)
			}
		}
		settled.join(d)
	}
	out := []FleetDiff{}
	for _, d := range settled.order {
		slices.Sort(d.Targets)
		name := "{target}"
		if len(d.Targets) == 1 {
			name = d.Targets[0]
		}
		for i := range d.Lines {
			d.Lines[i] = strings.ReplaceAll(d.Lines[i], ownName, name)
		}
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b FleetDiff) int {
		return cmp.Or(cmp.Compare(len(b.Targets), len(a.Targets)), cmp.Compare(a.Targets[0], b.Targets[0]))
	})
	return out
}

// countLines counts the targets that have a line, in each way in which it may be read.
func (g *fleetGroups) countLines() map[string]int {
	count := map[string]int{}
	for _, d := range g.order {
		ways := map[string]bool{}
		for _, line := range d.Lines {
			if len(d.Targets) > 1 {
				ways[maskDigests(line)] = true
				continue
			}
			for _, w := range readings(line, d.Targets[0]) {
				ways[maskDigests(w)] = true
			}
		}
		for w := range ways {
			count[w] += len(d.Targets)
		}
	}
	return count
}

// FleetDiff is one difference with all targets that have it. In its lines, {target} replaces the name
// of the target, and sha256:… a digest that differs between targets.
type FleetDiff struct {
	Targets []string `json:"targets"`
	Lines   []string `json:"lines"`
}
