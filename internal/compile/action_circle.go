package compile

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// notice is one hop of a chain of actions: the action of a state without steps notifies the action
// of another state.
type notice struct {
	to  int
	rng diag.Range
}

// actionCircles reports a cycle of actions that notify each other. Such actions have no order, and
// each would be due again after it ran.
func (b *builder) actionCircles() bool {
	next := map[int][]notice{}
	for _, t := range b.c.Triggers {
		for _, from := range b.c.Members(t.From) {
			if b.onlyActs(from) && b.onlyActs(t.To) {
				next[from] = append(next[from], notice{t.To, t.Range})
			}
		}
	}
	const open, done = 1, 2
	seen := map[int]int{}
	var way []notice
	var walk func(n notice) bool
	walk = func(n notice) bool {
		if seen[n.to] == open {
			start := slices.IndexFunc(way, func(w notice) bool { return w.to == n.to })
			b.reportActions(append(way[start:], n))
			return true
		}
		if seen[n.to] == done {
			return false
		}
		seen[n.to], way = open, append(way, n)
		for _, o := range next[n.to] {
			if walk(o) {
				return true
			}
		}
		seen[n.to], way = done, way[:len(way)-1]
		return false
	}
	for n := range b.c.Nodes {
		if len(next[n]) > 0 && walk(notice{to: n, rng: b.c.Nodes[n].Range}) {
			return true
		}
	}
	return false
}

func (b *builder) reportActions(way []notice) {
	hops := []string{b.c.Nodes[way[0].to].ID}
	var trace []diag.Range
	for _, w := range way[1:] {
		hop := b.c.Nodes[w.to].ID
		if p := w.rng.String(); p != "" {
			hop += " (notified at " + p + ")"
			trace = append(trace, w.rng)
		}
		hops = append(hops, hop)
	}
	d := diag.Errorf(diag.Range{}, "Actions notify each other",
		"Each of these actions notifies the next one, so they would never stop: %s. Remove one of the notifications.",
		strings.Join(hops, " → "))
	if len(trace) > 0 {
		d.Range, d.Trace = trace[0], trace[1:]
	}
	b.ds = append(b.ds, d)
}
