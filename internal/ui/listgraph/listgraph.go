// Package listgraph draws the steps of a list, or of a run, with their requirements. It is pure.
//
// A node is a step. An edge leads from a step to a later step that requires it, as far as both steps show it: a file
// requires its directory, its owner and its group, an action the steps that notify it. Further edges are the order of
// states that the source declares. The order of the steps is always that of the list, because a run has this order. The
// bands are the phases of the list, and its checks.
//
//	svg := graph.Draw(listgraph.OfList("web1", list, nil)).SVG()
package listgraph

import (
	"cmp"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/step"
)

// OfList returns the graph of a list. states are the states that write the addresses; it may be nil.
func OfList(title string, l step.List, states []executor.StateRef) *graph.Graph {
	return build(title, itemsOf(l, states), nil)
}

// OfApplied returns the graph of an applied list. Of a list with more than MaxSteps steps, it has the first ones, and a
// note.
func OfApplied(title string, l step.List, states []executor.StateRef) *graph.Graph {
	var notes []string
	if len(l) > MaxSteps {
		notes = append(notes, fmt.Sprintf("only the first %d of %d steps are drawn", MaxSteps, len(l)))
		l = l[:MaxSteps]
	}
	return build(title, itemsOf(l, states), notes)
}

func itemsOf(l step.List, states []executor.StateRef) []item {
	var items []item
	plain := graph.State{Class: graph.Plain}
	for _, s := range l {
		items = append(items, item{addr: s.Addr(), step: s, source: s.Source, look: plain})
	}
	addStates(items, states)
	return items
}

// place is an address in one of its phases.
type place struct {
	addr  addr.Addr
	phase int
}

// addStates adds the states of items and their order. Several states can share an address.
func addStates(items []item, states []executor.StateRef) {
	all := map[place][]executor.StateRef{}
	for _, st := range states {
		for _, a := range st.Addrs {
			at := place{a, st.Phase(a)}
			all[at] = append(all[at], st)
		}
	}
	for i := range items {
		it := &items[i]
		for _, st := range all[place{it.addr, max(1, it.step.Phase())}] {
			it.state = cmp.Or(it.state, st.ID)
			it.states = append(it.states, st.ID)
			it.after = append(it.after, st.After...)
		}
	}
}

// build returns the graph of items in the order of a list or a plan.
func build(title string, items []item, notes []string) *graph.Graph {
	g := &graph.Graph{Title: title, Notes: notes}
	all := requirements(items)
	bands := newBands(items)
	g.Bands = bands.names()
	for i, it := range items {
		n := graph.Node{Label: it.label(), State: it.look, Tip: tip(i, all[i], items), Band: bands.of[i]}
		g.Nodes = append(g.Nodes, n)
	}
	g.Edges = drawn(all)
	g.Notes = append([]string{summary(len(items), g.Edges)}, g.Notes...)
	return g
}

// tip returns the lines about an item and its requirements.
func tip(i int, needs []requirement, items []item) string {
	it := &items[i]
	lines := []string{it.label()}
	add := func(what, text string) {
		if text != "" {
			lines = append(lines, what+text)
		}
	}
	add("", it.detail)
	add("state ", it.state)
	add("at ", it.source)
	lines = append(lines, fmt.Sprintf("step %d of %d", i+1, len(items)))
	for k, n := range needs {
		if k == 20 {
			add("", fmt.Sprintf("and after %d other steps", len(needs)-k))
			break
		}
		lines = append(lines, "after "+items[n.from].label()+": "+n.why)
	}
	return strings.Join(lines, "\n")
}

// summary returns a line with the numbers of steps and the meaning of the lines.
func summary(steps int, edges []graph.Edge) string {
	if steps == 0 {
		return "The list has no steps."
	}
	parts := []string{fmt.Sprintf("%d steps", steps)}
	if steps == 1 {
		parts[0] = "1 step"
	}
	used := map[graph.Style]bool{}
	for _, e := range edges {
		used[e.Style] = true
	}
	for style, text := range []string{"solid line: requires", "dashed line: notifies", "dotted line: on failure"} {
		if used[graph.Style(style)] {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// bands are the phases of a list, and its checks.
type bands struct {
	of     []int
	phases int
	checks bool
}

// newBands puts each step into the phase in which a run reaches it: a phase begins with its first step.
func newBands(items []item) *bands {
	b := &bands{phases: 1}
	for _, it := range items {
		if it.step.Verb == step.Check {
			b.checks = true
		} else if k := it.step.Phase(); k > b.phases {
			b.phases = k
		}
		b.of = append(b.of, b.phases-1)
	}
	for i, it := range items {
		if it.step.Verb == step.Check {
			b.of[i] = b.phases
		}
	}
	return b
}

func (b *bands) names() []string {
	var out []string
	for k := range b.phases {
		out = append(out, fmt.Sprintf("Phase %d", k+1))
	}
	if b.phases == 1 {
		out[0] = ""
	}
	if b.checks {
		out = append(out, "Checks")
	}
	return out
}
