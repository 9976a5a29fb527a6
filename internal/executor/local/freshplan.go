package local

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// look plans with the outputs that the machine has by now, and keeps the result for lookAgain.
func (x *looks) look(ctx context.Context, r *executor.Request) (*plan.Plan, journal.State, bool, error) {
	x.last = looked{}
	if err := x.informed(r); err != nil {
		return nil, journal.State{}, false, err
	}
	l, err := x.source.look(ctx, r)
	if err == nil && l.keyed {
		x.last = l
		x.last.seen = nil
	}
	return l.plan, l.state, l.todo, err
}

// look loads the list, observes the host and plans.
func (x *fresh) look(ctx context.Context, r *executor.Request) (looked, error) {
	if err := x.load(r); err != nil {
		return looked{}, err
	}
	p, st, seen, err := x.planner.plan(ctx, *r)
	l := looked{request: *r, plan: p, state: st, seen: seen}
	if err == nil {
		l.todo = needsRun(p, st, *r) || seen.moved
	}
	return l, err
}

// load reads the list and, at the same time, the state, which the store keeps.
func (x *fresh) load(r *executor.Request) error {
	var state errgroup.Group
	state.Go(func() error {
		_, err := x.store.State()
		return err
	})
	err := r.Fill()
	if serr := state.Wait(); err == nil && serr != nil {
		err = fmt.Errorf("cannot read the applied state: %w", serr)
	}
	return err
}

// lookAgain is look, but reuses an observation where that is safe. The plan p must be
// from this process, without a run since. In addition, either there is nothing to do, or
// no operator was prompted in between. A run observes again each address that it changes.
func (x *looks) lookAgain(ctx context.Context, r *executor.Request, p *plan.Plan,
	o executor.Options) (*plan.Plan, journal.State, bool, error) {
	if p != nil && x.last.plan == p && (o.Unasked || !x.last.todo) {
		if key, ok := x.remembered.lookKey(r); ok && key.Same(x.last.key) {
			if x.last.todo {
				r.Take(x.last.request)
			}
			return withoutDiffs(p), x.last.state, x.last.todo, nil
		}
	}
	return x.look(ctx, r)
}

// withoutDiffs is the plan as a run keeps it.
func withoutDiffs(p *plan.Plan) *plan.Plan {
	q := *p
	q.Notes = nil
	q.Changes = slices.Clone(p.Changes)
	for i := range q.Changes {
		q.Changes[i].Diff, q.Changes[i].Binary = "", false
	}
	return &q
}

// announce shows the plan of another run of the same operation, before this run begins.
func announce(show func(executor.Event), p *plan.Plan, text string) {
	if show != nil {
		show(executor.Event{Kind: "plan", Total: len(p.Changes), Text: text, Plan: withoutDiffs(p)})
	}
}

// asked runs the guards that the plan could not run, on the host, if no other change is
// planned. A run would otherwise run them in order, and would be recorded although it changes
// nothing.
func (x *looks) asked(ctx context.Context, r executor.Request, p *plan.Plan, st journal.State,
	todo bool) (*plan.Plan, journal.State, bool, error) {
	if !todo || !onlyUnasked(p) {
		return p, st, todo, nil
	}
	r.Guards = executor.HostGuards
	again, after, still, err := x.look(ctx, &r)
	if err != nil || still {
		return p, st, todo, err
	}
	return again, after, false, nil
}

// needsRun tells whether there is anything to do or to record.
func needsRun(p *plan.Plan, st journal.State, r executor.Request) bool {
	for _, c := range p.Changes {
		if c.Action != plan.Verify && c.Action != plan.Drift && c.Action != plan.Blocked {
			return true
		}
	}
	return executor.NewOwner(&r, st) || st.Run == 0 && len(r.List) > 0 || st.Revision.Digest != r.Revision.Digest ||
		st.Revision.Commit != r.Revision.Commit || !st.Complete && st.Run > 0
}
