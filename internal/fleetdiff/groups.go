// Package fleetdiff shows the difference of two revisions for very many targets: targets with the same difference form
// one group. Lines that differ only in the name of the target are the same.
//
//	var g fleetdiff.Groups
//	for _, t := range targets {
//		g.Add(t.Name, step.Diff(old[t.Name], new[t.Name]))
//	}
//	for _, d := range g.Sorted() {
//		fmt.Println(d.Targets, d.Lines)
//	}
package fleetdiff

import (
	"cmp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/step"
)

// Diff is one difference with all targets that have it. In its lines, {target} replaces the name
// of the target, and sha256:… a digest that differs between targets.
type Diff struct {
	Targets []string `json:"targets"`
	Lines   []string `json:"lines"`
	// Sources are the places of the lines in the repository, "file:line" or "", for one of the targets. It is nil if no
	// place is known.
	Sources []string `json:"-"`
}

// Groups gathers targets by their differences. The zero value is ready for use. It is not safe for concurrent use.
type Groups struct {
	byKey map[string]*Diff
	order []*Diff
	seen  int
}

// Add adds a target with the changes of its list. A target without changes only counts.
func (g *Groups) Add(target string, changes []step.Change) {
	g.seen++
	text := withoutName(strings.TrimSuffix(step.FormatDiff(changes), "\n"), target)
	if text == "" {
		return // at most the order is another one
	}
	lines := strings.Split(text, "\n")
	g.join(&Diff{Targets: []string{target}, Lines: lines, Sources: sourcesOf(changes, len(lines))})
}

// sourcesOf returns the sources of the lines of changes, or nil if they are unknown.
func sourcesOf(changes []step.Change, lines int) []string {
	var out []string
	for _, c := range changes {
		for _, s := range []*step.Step{c.Old, c.New} {
			if s != nil {
				out = append(out, s.Source)
			}
		}
	}
	known := slices.ContainsFunc(out, func(s string) bool { return s != "" })
	if !known || len(out) != lines {
		return nil
	}
	return out
}

// Targets returns the number of added targets, including targets without a difference.
func (g *Groups) Targets() int { return g.seen }

// join adds targets with a difference to the targets with the same difference.
func (g *Groups) join(more *Diff) {
	key := maskDigests(strings.Join(more.Lines, "\n"))
	d := g.byKey[key]
	if d == nil {
		if g.byKey == nil {
			g.byKey = map[string]*Diff{}
		}
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

// Sorted returns the differences, the largest first. A word that equals the name of a target counts as
// this name only if other targets have their names at the same place; otherwise it can be any word,
// such as a directory, and is kept.
func (g *Groups) Sorted() []Diff {
	count := g.countLines()
	settled := &Groups{}
	for _, d := range g.order {
		if len(d.Targets) == 1 {
			for i, line := range d.Lines {
				d.Lines[i] = likeOthers(line, d.Targets[0], count)
			}
		}
		settled.join(d)
	}
	out := []Diff{}
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
	slices.SortFunc(out, func(a, b Diff) int {
		return cmp.Or(cmp.Compare(len(b.Targets), len(a.Targets)), cmp.Compare(a.Targets[0], b.Targets[0]))
	})
	return out
}

// countLines counts the targets that have a line, in each way in which it may be read.
func (g *Groups) countLines() map[string]int {
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
