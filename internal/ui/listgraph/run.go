package listgraph

import (
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/plan"
)

// The looks of a step of a run, in the order of the legend.
var (
	failed    = graph.State{Name: "failed", Mark: "✖", Class: graph.Bad}
	undone    = graph.State{Name: "undone", Mark: "▲", Class: graph.Warn}
	drifted   = graph.State{Name: "drifted", Mark: "△", Class: graph.Warn}
	unknown   = graph.State{Name: "unknown", Mark: "◐", Class: graph.Busy}
	blocked   = graph.State{Name: "blocked", Mark: "■", Class: graph.Busy}
	changed   = graph.State{Name: "changed", Mark: "●", Class: graph.Good}
	passed    = graph.State{Name: "passed", Mark: "✓", Class: graph.Good}
	skipped   = graph.State{Name: "skipped", Mark: "◇", Class: graph.Off}
	unchanged = graph.State{Name: "unchanged", Mark: "○", Class: graph.Off}
)

// maxError is the number of characters of an error in a tooltip.
const maxError = 500

// looks returns all looks of a step of a run, in the order of the legend.
func looks() []graph.State {
	return []graph.State{failed, undone, drifted, unknown, blocked, changed, passed, skipped, unchanged}
}

// OfRun returns the graph of a run: the changes of its plan, and the addresses of its list that it did not change. A
// graph that would have more than MaxSteps nodes has only the first changes, and a note.
func OfRun(target string, s executor.Shown) *graph.Graph {
	title := fmt.Sprintf("Run %d", s.Info.Header.Run)
	if target != "" {
		title += " of " + target
	}
	outcome := string(s.Info.Outcome)
	if outcome == "" {
		outcome = "unfinished"
	}
	changes := changedItems(s)
	all, notes := withUnchanged(changes, s.States), []string(nil)
	if len(all) > MaxSteps {
		notes = []string{fmt.Sprintf("%d unchanged steps are not drawn", len(all)-len(changes))}
		all = changes[:min(len(changes), MaxSteps)]
	}
	if len(changes) > MaxSteps {
		notes = append(notes, fmt.Sprintf("only the first %d of %d changes are drawn", MaxSteps, len(changes)))
	}
	addStates(all, s.States)
	g := build(title+": "+outcome, all, notes)
	count := map[graph.State]bool{}
	for _, n := range g.Nodes {
		count[n.State] = true
	}
	for _, look := range looks() {
		if count[look] {
			g.Legend = append(g.Legend, look)
		}
	}
	return g
}

// changedItems returns the items of the changes of a plan with their outcomes. The parts of a run are in the order of
// its plan.
func changedItems(s executor.Shown) []item {
	var out []item
	for _, inv := range s.Invocations {
		for _, part := range inv.Parts {
			it := item{addr: part.Addr, state: inv.State, source: inv.Source}
			if i := len(out); s.Plan != nil && i < len(s.Plan.Changes) && s.Plan.Changes[i].Addr == part.Addr {
				it.step, it.cause = s.Plan.Changes[i].StepOrApplied(), s.Plan.Changes[i].Cause
			}
			it.look = lookOf(part, s.Info.Ended == 0)
			it.detail = it.look.Name + " (" + string(part.Action) + ")"
			if part.Error != "" {
				it.detail += fmt.Sprintf(": %.*s", maxError, part.Error)
			}
			out = append(out, it)
		}
	}
	return out
}

// lookOf returns the look of a step that a run reached or did not reach.
func lookOf(p executor.Part, running bool) graph.State {
	switch p.Outcome {
	case "failed":
		return failed
	case "undone":
		return undone
	case "skipped":
		if running {
			return unknown
		}
		return skipped
	case "done":
		return lookOfDone(p.Action)
	}
	return unknown
}

func lookOfDone(a plan.Action) graph.State {
	switch {
	case a == plan.Blocked:
		return blocked
	case a == plan.Drift:
		return drifted
	case a == plan.Verify || a == plan.Wait:
		return passed
	case a.Mutates():
		return changed
	}
	return unchanged
}

// withUnchanged inserts the other addresses of a list, each before the first change that is later in the list.
func withUnchanged(changes []item, states []executor.StateRef) []item {
	rank, n := map[addr.Addr]int{}, 0
	for _, s := range states {
		for _, a := range s.Addrs {
			rank[a], n = n, n+1
		}
	}
	isChange := map[addr.Addr]bool{}
	for _, c := range changes {
		isChange[c.addr] = true
	}
	var rest, out []item
	for _, s := range states {
		for _, a := range s.Addrs {
			if !isChange[a] {
				isChange[a] = true
				rest = append(rest, item{addr: a, state: s.ID, source: s.Source, look: unchanged, detail: unchanged.Name})
			}
		}
	}
	for _, c := range changes {
		r, inList := rank[c.addr]
		for inList && len(rest) > 0 && rank[rest[0].addr] < r {
			out, rest = append(out, rest[0]), rest[1:]
		}
		out = append(out, c)
	}
	return append(out, rest...)
}
