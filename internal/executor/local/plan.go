package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Plan implements executor.Executor.
func (x *Executor) Plan(ctx context.Context, r executor.Request) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	p, _, _, err := x.look(ctx, &r)
	x.saveCache()
	return p, err
}

// quiet refuses to look at a machine in the middle of a run.
func (x *Executor) quiet() error {
	run, open, err := x.store.Unfinished()
	if err != nil || !open {
		return err
	}
	l, err := x.lock(executor.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	return fmt.Errorf("run %d was interrupted; to finish or undo it, run: fettle recover", run)
}

// plan compares a request with the applied state and with the machine.
func (x *Executor) plan(ctx context.Context, r executor.Request) (*plan.Plan, journal.State, *observed, error) {
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
		Rules: rules{x.names}, Kept: x.kept, Links: x.links, Names: x.namesLike, Missing: x.missing(ctx), Repair: r.Repair,
		Foreign: x.foreign(seen, stored, st.Entries, newPast(x.kept))})
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

// listOf reads the list of a state; it is empty if the state has none.
func (x *Executor) listOf(st journal.State) (step.List, error) {
	text, err := x.listText(st)
	if err != nil {
		return nil, err
	}
	l, ds := step.Parse(fmt.Sprintf("list of run %d", st.Run), text)
	return l, ds.Err()
}

func (x *Executor) listText(st journal.State) ([]byte, error) {
	if st.List == "" {
		return nil, nil
	}
	text, err := x.store.ReadObject(st.List)
	if err != nil {
		return nil, fmt.Errorf("cannot read the list of run %d: %w", st.Run, err)
	}
	return text, nil
}

// actsOf reads the actions from the list of a state; a plan needs no other steps of it. A
// stored list has one step per line.
func (x *Executor) actsOf(st journal.State) (step.List, error) {
	text, err := x.listText(st)
	if err != nil {
		return nil, err
	}
	var acts []byte
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(step.Act+" ")) {
			acts = append(acts, line...)
		}
	}
	l, ds := step.Parse(fmt.Sprintf("actions of run %d", st.Run), acts)
	return l, ds.Err()
}

// List implements executor.Executor.
func (x *Executor) List(_ context.Context, run int) (step.List, error) {
	st, err := x.stateAt(run)
	if err != nil {
		return nil, err
	}
	return x.listOf(st)
}

func (x *Executor) stateAt(run int) (journal.State, error) {
	if run == 0 {
		return journal.State{Format: 1}, nil
	}
	st, err := x.store.StateAt(run)
	if err != nil {
		return st, fmt.Errorf("cannot read the state after run %d; to list the stored runs: fettle log: %w", run, err)
	}
	return st, nil
}

// PlanRollback implements executor.Executor.
func (x *Executor) PlanRollback(ctx context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	p, _, err := x.planRollback(ctx, r)
	x.saveCache()
	return p, err
}

// rollbackGoal are the inputs of a rollback, in addition to the plan.
type rollbackGoal struct {
	now, then journal.State
	list      step.List
	unreached []string
}

func (x *Executor) planRollback(ctx context.Context, r executor.RollbackRequest) (*plan.Plan, rollbackGoal, error) {
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
	if err := x.unseal(secret.Bundle{}, nil, g.list, g.now.Entries, g.then.Entries); err != nil {
		return nil, g, err
	}
	seen, err := x.observe(ctx, toLookAt(g.list, append(g.now.Entries[:len(g.now.Entries):len(g.now.Entries)], g.then.Entries...)), false, r.Guards)
	if err != nil {
		return nil, g, err
	}
	restored := x.inOrigins(g.now.Entries, g.list)
	maps.Copy(restored, found)
	x.lookWhole(seen, slices.Sorted(maps.Keys(restored)))
	x.lookWhole(seen, attributed(g.now.Entries, g.list))
	x.lookInto(seen, g.now.Entries, g.list)
	foreign := x.foreign(seen, restored, g.now.Entries, past)
	others := leaveToOthers(past, x.lookFile, found, g.now.Entries)
	p, problems := plan.Make(plan.Input{Operation: journal.OpRollback, Target: g.now.Target, Revision: g.then.Revision,
		Wanted: g.list, AppliedList: old, Applied: g.now, Observed: seen.images, Failed: seen.failed, Rules: rules{x.names},
		Kept: x.kept, Links: x.links, Names: x.namesLike, Missing: x.missing(ctx), Repair: true, SkipBlocked: r.SkipBlocked, Unreached: g.unreached,
		Foreign: foreign, Goal: &plan.Goal{
			To: r.To, Entries: g.then.Entries, Before: before, Found: found, Others: others,
			Moved: past.parts.paths(), Edited: past.parts.unchanged(x.lookFile)}})
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
func rollbackStates(now func() (journal.State, error), after func(int) (journal.State, error), to int) (g rollbackGoal, err error) {
	if g.now, err = now(); err != nil {
		return g, fmt.Errorf("cannot read the applied state: %w", err)
	}
	if to > g.now.Run || to < 0 {
		return g, fmt.Errorf("cannot restore the state after run %d: the last run is %d; to list the runs: fettle log", to, g.now.Run)
	}
	g.then, err = after(to)
	return g, err
}

// withHome adds the image of a later removed home directory to the first image of an
// account.
func withHome(first, later image.Image) image.Image {
	if first.User == nil || !first.User.Present || first.User.HomeDir != nil || later.User == nil || later.User.Home != first.User.Home {
		return first
	}
	u := *first.User
	u.HomeDir = later.User.HomeDir
	return image.Image{User: &u}
}

// tellsBefore reports whether a record has the before-image of an address other than a
// file. Moves of a region or of metadata have the before-image of the whole path; their
// intents have the before-image of the address.
func tellsBefore(rec journal.Record) bool {
	if rec.From == nil || rec.Back {
		return false
	}
	switch rec.Kind {
	case journal.Adopted:
		return rec.Addr.Kind() != addr.KindFile
	case journal.Intent:
		return rec.Addr.Kind() == addr.KindEdit || rec.Addr.Kind() == addr.KindMeta
	case journal.Result:
		return rec.Addr.Kind() != addr.KindEdit && rec.Addr.Kind() != addr.KindMeta && rec.Addr != ""
	}
	return false
}

// Drift implements executor.Executor: it compares the applied state with the machine.
func (x *Executor) Drift(ctx context.Context, o executor.DriftOptions) (*plan.Plan, error) {
	if err := x.quiet(); err != nil {
		return nil, err
	}
	st, err := x.store.State()
	if err != nil {
		return nil, fmt.Errorf("cannot read the applied state: %w", err)
	}
	notes := x.store.Notes()
	st.Entries, _ = x.followed(st.Entries)
	list, unreached, err := x.goalList(st)
	if err != nil {
		return nil, err
	}
	x.host.Seal(apply.Sealed([]step.List{list}))
	seen, err := x.observe(ctx, list, o.Verify, o.Guards)
	if err != nil {
		return nil, err
	}
	p, problems := plan.Make(plan.Input{Operation: journal.OpApply, Target: st.Target, Revision: st.Revision, Wanted: list,
		AppliedList: list, Applied: st, Observed: seen.images, Failed: seen.failed, Rules: rules{x.names}, Names: x.namesLike, Repair: true, Unreached: unreached})
	x.saveCache()
	p.Notes = append(slices.Clip(notes), unanswered(p.Changes)...)
	p.Changes = drifted(p.Changes, problems)
	if o.Verify {
		x.driftedAttributes(p, st, o.Attributes)
	}
	if o.Diffs {
		x.diffs(p, nil)
		p.Changes = foundAndExpected(p.Changes)
	}
	return p, nil
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
			if c.Addr.Kind() == addr.KindExec && c.From.Exec.Unasked == "" {
				out = append(out, c)
			}
		}
	}
	for _, d := range problems {
		c := plan.Change{Action: plan.Drift, Step: d.Line, Source: d.Range.File, Why: d.Detail, Drifted: true}
		if l, _ := step.Parse("", []byte(d.Line)); len(l) == 1 {
			c.Addr = l[0].Addr()
		}
		out = append(out, c)
	}
	return out
}

// saveCache writes the stat cache; failing to costs only time.
func (x *Executor) saveCache() {
	if x.cache == nil || !x.cache.Dirty() {
		return
	}
	st, err := x.store.State()
	if err != nil {
		return
	}
	managed := make(map[string]bool, len(st.Entries))
	for _, e := range st.Entries {
		managed[e.Addr.Path()] = true
	}
	if err := x.cache.Save(func(p string) bool { return managed[p] }); err != nil && !errors.Is(err, context.Canceled) {
		return
	}
}
