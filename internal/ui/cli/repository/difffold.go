package repository

import (
	"cmp"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/step"
)

// fleetGroups gathers differences that are the same.
type fleetGroups struct {
	byKey map[string]*FleetDiff
	order []*FleetDiff
	seen  int // targets, also targets without a difference
}

// ownName replaces the name of a target in lines until all targets are gathered.
const ownName = "\x00"

var digests = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`sha256:[0-9a-f]{64}`) })

func maskDigests(text string) string { return digests().ReplaceAllString(text, "sha256:…") }

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

// withoutName puts ownName in the place of a target's name, where that is a word
// of its own.
func withoutName(text, name string) string {
	part := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
	}
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 || name == "" {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(name)
		if i > 0 && part(text[i-1]) || end < len(text) && part(text[end]) {
			b.WriteString(text[:end])
		} else {
			b.WriteString(text[:i] + ownName)
		}
		text = text[end:]
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

// likeOthers is the reading of a line that most targets share, with as few names replaced as
// possible.
func likeOthers(line, name string, count map[string]int) string {
	best, most := "", 0
	for _, w := range readings(line, name) {
		if n := count[maskDigests(w)]; n > most {
			best, most = w, n
		}
	}
	return best
}

// mostReadings bounds the names in a line of which each may or may not be that of the target.
const mostReadings = 4

// readings returns a line with each choice of the words that are the name of its target, the fewest
// first. With very many words, it chooses all or none.
func readings(line, name string) []string {
	parts := strings.Split(line, ownName)
	n := len(parts) - 1
	switch {
	case n == 0:
		return []string{line}
	case n > mostReadings:
		return []string{strings.ReplaceAll(line, ownName, name), line}
	}
	out := make([]string, 0, 1<<n)
	for own := 0; own <= n; own++ {
		for chosen := range uint(1) << n {
			if bits.OnesCount(chosen) == own {
				out = append(out, reading(parts, name, chosen))
			}
		}
	}
	return out
}

func reading(parts []string, name string, chosen uint) string {
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		switch {
		case i == len(parts)-1:
		case chosen&(1<<i) != 0:
			b.WriteString(ownName)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// FleetDiff is one difference with all targets that have it. In its lines, {target} replaces the name
// of the target, and sha256:… a digest that differs between targets.
type FleetDiff struct {
	Targets []string `json:"targets"`
	Lines   []string `json:"lines"`
}
