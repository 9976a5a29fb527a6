package eval

import (
	"slices"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
)

// pending has the edges and triggers between states until every state has its number in the catalog.
type pending struct {
	edges    []pendingEdge
	triggers []pendingTrigger
	always   []pendingEdge // of blocks, to the states whose actions are their always part
}

type pendingEdge struct {
	node  int
	other reference
	after bool // node is after other
	why   string
}

type pendingTrigger struct {
	from, to  reference
	action    string
	immediate bool
	failure   bool
	rescue    bool
	rng       diag.Range
}

// depend orders a node after its references.
func (p *pending) depend(node int, refs []reference) {
	for _, r := range refs {
		p.edges = append(p.edges, pendingEdge{node: node, other: r, after: true, why: "reference"})
	}
}

// afterAlways orders states after a block also after its always part.
func (p *pending) afterAlways(c *catalog.Catalog) {
	for _, a := range p.always {
		for _, e := range c.Edges {
			if o := a.other.node(); e.Before == a.node && o >= 0 && o != e.After {
				c.Edges = append(c.Edges, catalog.Edge{Before: o, After: e.After, Why: e.Why, Range: e.Range})
			}
		}
	}
}

// link turns pending edges and triggers into edges of the catalog, because every node now has its
// number. A state that is off has no number, and its edges are dropped.
func (p *pending) link(c *catalog.Catalog) {
	seen := map[catalog.Edge]bool{}
	for _, e := range p.edges {
		o := e.other.node()
		if o < 0 || o == e.node && e.why == "reference" {
			continue
		}
		x := catalog.Edge{Before: o, After: e.node, Why: e.why, Range: e.other.rng}
		if !e.after {
			x.Before, x.After = e.node, o
		}
		key := catalog.Edge{Before: x.Before, After: x.After}
		if !seen[key] {
			seen[key] = true
			c.Edges = append(c.Edges, x)
		}
	}
	p.afterAlways(c)
	done := map[catalog.Trigger]bool{}
	for _, t := range p.triggers {
		x := catalog.Trigger{From: t.from.node(), To: t.to.node(), Action: t.action, Immediate: t.immediate,
			Failure: t.failure, Rescue: t.rescue}
		if x.From < 0 || x.To < 0 || done[x] {
			continue
		}
		done[x] = true
		x.Range = t.rng
		c.Triggers = append(c.Triggers, x)
	}
	slices.SortStableFunc(c.Triggers, func(a, b catalog.Trigger) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
}
