package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// plan compares a request with the applied state and with the machine.
func (x *planner) plan(ctx context.Context, r executor.Request) (*plan.Plan, journal.State, *observed, error) {
	st, err := x.store.State()
	if err != nil {
		return nil, st, nil, fmt.Errorf("cannot read the applied state: %w", err)
	}
	notes := x.store.Notes()
	entries, moved := x.followed(st.Entries)
	st.Entries = entries
	if err := executor.MayReplace(&r, st); err != nil {
		return nil, st, nil, err
	}
	if err := x.unseal(r.Secrets, r.Blobs, r.List, st.Entries); err != nil {
		return nil, st, nil, err
	}
	seen, err := x.observe(ctx, toLookAt(r.List.Final(), st.Entries), r.Verify, r.Guards)
	if err != nil {
		return nil, st, nil, err
	}
	seen.moved = moved
	stored := x.inOrigins(st.Entries, r.List.Final())
	x.lookWhole(seen, slices.Sorted(maps.Keys(stored)))
	x.lookWhole(seen, attributed(st.Entries, r.List.Final()))
	x.lookInto(seen, st.Entries, r.List.Final())
	old, err := x.actsOf(st)
	if err != nil {
		return nil, st, nil, err
	}
	p, problems := staged(r, plan.Input{Operation: journal.OpApply, Target: r.Target, Revision: r.Revision,
		AppliedList: old, Applied: st, Observed: seen.images, Failed: seen.failed,
		Rules: rules{x.names}, StoredTree: x.kept, Links: x.links, LinksAbove: x.linksAbove, Names: x.namesLike,
		Missing: x.missing(ctx), Absent: x.absent, Repair: r.Repair,
		ForeignPaths: x.foreign(seen, stored, st.Entries, newPast(x.kept))})
	p.Notes = notes
	if err := problems.Err(); err != nil {
		return p, st, seen, err
	}
	if err := x.tellPackages(ctx, p, st, r.List.Final(), false).Err(); err != nil {
		return p, st, seen, err
	}
	if r.Diffs {
		x.diffs(p, r.Blobs)
	}
	nameStates(p, r.States)
	return p, st, seen, nil
}

// nameStates records in each change which state of the configuration writes its address.
func nameStates(p *plan.Plan, states []executor.StateRef) {
	names := map[addr.Addr]string{}
	for _, s := range states {
		for _, a := range s.Addrs {
			names[a] = s.ID
		}
	}
	for i := range p.Changes {
		p.Changes[i].State = names[p.Changes[i].Addr]
	}
}

// rollbackGoal are the inputs of a rollback, in addition to the plan.
type rollbackGoal struct {
	now, then journal.State
	list      step.List
	unreached []string
}

func (x *planner) planRollback(ctx context.Context, r executor.RollbackRequest) (*plan.Plan, rollbackGoal, error) {
	g, err := rollbackStates(x.store.State, x.stateAt, r.To)
	if err != nil {
		return nil, g, err
	}
	notes := x.store.Notes()
	entries := g.then.Entries
	g.now.Entries, _ = x.followed(g.now.Entries)
	g.then.Entries, _ = x.followed(entries)
	if g.list, g.unreached, err = x.goalList(g.then); err != nil {
		return nil, g, err
	}
	old, err := x.actsOf(g.now)
	if err != nil {
		return nil, g, err
	}
	before, past, err := x.history(g.then, g.now.Run)
	if err != nil {
		return nil, g, err
	}
	x.followedImages(before, entries)
	found := past.wanted(x.isDir)
	past.addCreated(found)
	if err := x.unseal(secret.Bundle{}, nil, g.list, g.now.Entries, g.then.Entries); err != nil {
		return nil, g, err
	}
	seen, err := x.observe(ctx, toLookAt(g.list, append(g.now.Entries[:len(g.now.Entries):len(g.now.Entries)],
		g.then.Entries...)), false, r.Guards)
	if err != nil {
		return nil, g, err
	}
	others := x.leaveToOthers(past, found, g.now.Entries, entries)
	restored := x.inOrigins(g.now.Entries, g.list)
	maps.Copy(restored, found)
	x.lookWhole(seen, slices.Sorted(maps.Keys(restored)))
	x.lookWhole(seen, attributed(g.now.Entries, g.list))
	x.lookInto(seen, g.now.Entries, g.list)
	foreign := x.foreign(seen, restored, g.now.Entries, past)
	p, problems := plan.Make(plan.Input{Operation: journal.OpRollback, Target: g.now.Target, Revision: g.then.Revision,
		Desired: g.list, AppliedList: old, Applied: g.now, Observed: seen.images, Failed: seen.failed, Rules: rules{x.names},
		StoredTree: x.kept, Links: x.links, Names: x.namesLike, Missing: x.missing(ctx), Repair: true,
		SkipBlocked: r.SkipBlocked, Unreached: g.unreached,
		ForeignPaths: foreign, Goal: &plan.Goal{
			To: r.To, Entries: g.then.Entries, ImagesBefore: before, FilesBefore: found, Unmanaged: others,
			Released: past.freed, Moved: past.parts.paths(), Edited: past.parts.unchanged(x.lookFile)}})
	p.Notes = notes
	if err := problems.Err(); err != nil {
		return p, g, err
	}
	if err := x.tellPackages(ctx, p, g.now, g.list, r.SkipBlocked).Err(); err != nil {
		return p, g, err
	}
	if r.Diffs {
		x.diffs(p, nil)
	}
	return p, g, nil
}

// rollbackStates returns the applied state and the state after a run. It is an error if there was no
// such run.
func rollbackStates(now func() (journal.State, error), after func(int) (journal.State, error),
	to int) (g rollbackGoal, err error) {
	if g.now, err = now(); err != nil {
		return g, fmt.Errorf("cannot read the applied state: %w", err)
	}
	if to > g.now.Run || to < 0 {
		return g, fmt.Errorf("cannot restore the state after run %d: the last run is %d; to list the runs: fettle log", to,
			g.now.Run)
	}
	g.then, err = after(to)
	return g, err
}

// foundAndExpected labels both sides of each diff of drift.
func foundAndExpected(changes []plan.Change) []plan.Change {
	for i, c := range changes {
		if p := c.Addr.Path(); c.Diff != "" {
			changes[i].Diff = strings.Replace(c.Diff, "--- a"+p+"\n+++ b"+p+"\n", "--- found "+p+"\n+++ expected "+p+"\n", 1)
		}
	}
	return changes
}

// drifted keeps the differences, and makes one of each address that cannot even
// be compared any more.
func drifted(changes []plan.Change, problems diag.List) []plan.Change {
	var out []plan.Change
	for _, c := range changes {
		if c.From != nil && c.To != nil && c.From.Same(*c.To) {
			continue // as applied; a plan would look at it once more
		}
		switch c.Action {
		case plan.Create, plan.Update, plan.Repair, plan.Purge:
			out = append(out, c)
		case plan.Run:
			if c.Addr.Kind() == addr.KindExec && c.From.Exec().GuardsNotRun == "" {
				out = append(out, c)
			}
		}
	}
	for _, d := range problems {
		c := plan.Change{Action: plan.Drift, Source: d.Range.File, Why: d.Detail, Drifted: true}
		var err error
		if c.Step, err = step.ParseLine(d.Line); err != nil { // impossible: the plan printed it
			c.Why += "; " + err.Error()
		}
		c.Addr = c.Step.Addr()
		out = append(out, c)
	}
	return out
}

// staged plans the first stage of a request that the machine has not passed. A
// list without phases, of which nothing is held, is one stage.
func staged(r executor.Request, in plan.Input) (*plan.Plan, diag.List) {
	stages := r.List.Stages()
	for k, list := range stages {
		in.Desired, in.MorePhases, in.Later = list, k+1 < len(stages) || len(r.Deferred) > 0, nil
		if k+1 < len(stages) {
			if in.Later = r.List.Later(k + 1); plan.StageCompleted(in) {
				continue
			}
		}
		p, ds := plan.Make(in)
		if k+1 < len(stages) && !ds.HasErrors() && p.Empty() {
			continue
		}
		if len(stages) > 1 {
			p.Stage, p.Stages = k+1, len(stages)
		}
		if k+1 == len(stages) {
			p.List = r.Digest()
		}
		p.Later = append(later(in, p, stages[k+1:], len(r.Deferred) > 0), held(r.Deferred)...)
		return p, ds
	}
	return nil, nil // the last stage is never passed
}

// listOfPlan is the list that a run of the plan brings about.
func listOfPlan(r executor.Request, p *plan.Plan) step.List {
	if p.Stage < p.Stages {
		return r.List.Stages()[p.Stage-1]
	}
	return r.List
}

// statesIn are the states that have steps in a list which has each address once.
func statesIn(states []executor.StateRef, list step.List) []executor.StateRef {
	there := make(map[addr.Addr]int, len(list))
	for _, s := range list {
		there[s.Addr()] = s.Phase()
	}
	var out []executor.StateRef
	for _, st := range states {
		st.Addrs = slices.DeleteFunc(slices.Clone(st.Addrs), func(a addr.Addr) bool { return there[a] != st.Phase(a) })
		if len(st.Addrs) > 0 {
			out = append(out, st)
		}
	}
	return out
}

func held(states []executor.Deferred) []plan.Later {
	var out []plan.Later
	for _, h := range states {
		l := plan.Later{Addr: h.Addr, State: h.ID, Source: h.Source, Why: "after a state that waits for an output"}
		if h.WaitsFor != "" {
			l.Why = h.WaitsFor
		}
		if len(h.Needs) > 0 {
			l.Why = "needs the output of " + addresses(h.Needs)
		}
		out = append(out, l)
	}
	return out
}

// later tells what the stages after a plan will do, as far as that can be told
// before it ran.
func later(in plan.Input, p *plan.Plan, stages []step.List, more bool) []plan.Later {
	var out []plan.Later
	in.Missing = nil // the stages before may bring it
	for k, list := range stages {
		in = in.After(p)
		in.Desired, in.MorePhases, in.Later = list, k+1 < len(stages) || more, nil
		next, ds := plan.Make(in)
		if ds.HasErrors() {
			return append(out, plan.Later{Why: fmt.Sprintf("phase %d: planned after the phases before it", p.Stage+k+1)})
		}
		for _, c := range next.Changes {
			if c.Action.Mutates() {
				out = append(out, plan.Later{Action: c.Action, Addr: c.Addr, Source: c.Source,
					Why: fmt.Sprintf("phase %d: %s", p.Stage+k+1, c.Why)})
			}
		}
		p, next.Stage = next, p.Stage
	}
	return out
}

func addresses(list []addr.Addr) string {
	s := make([]string, len(list))
	for i, a := range list {
		s[i] = string(a)
	}
	return strings.Join(s, ", ")
}
