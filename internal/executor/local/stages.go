package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// follow runs the remaining phases after a successful run, each phase as a separate run,
// until no change is necessary. rep is the report of the runs before.
func (x *runs) follow(ctx context.Context, r executor.Request, done *plan.Plan, rep *executor.Report,
	o executor.Options, show func(executor.Event), h *hold) (*executor.Report, error) {
	first, waits, told := rep.Run, "", done.Later
	seen := map[string]bool{unbased(done): true}
	for done.More() || r.Next != nil {
		known := r.Known
		if err := x.looks.informed(&r); err != nil {
			return rep, err
		}
		now, st, todo, err := x.looks.look(ctx, &r)
		if err != nil {
			return rep, err
		}
		if !todo || len(r.Deferred) > 0 && now.Empty() && maps.Equal(known, r.Known) {
			waits, done = waiting(r.Deferred), now
			break
		}
		if seen[unbased(now)] {
			return rep, fmt.Errorf("cannot finish: run %d made its planned changes, and the next plan has the same changes again; to see them: fettle plan", rep.Run)
		}
		if err := untold(now, told); o.Exact && err != nil {
			return rep, err
		}
		again := false
		if ctx, again, err = h.acquire(ctx, executor.NeededLocks(now, r.List)); err != nil {
			return rep, err
		}
		if again {
			continue
		}
		seen[unbased(now)] = true
		o.Continues = rep.Run
		o = o.For(now)
		announce(show, now, "the next phase")
		next, err := x.runPlan(ctx, r, now, st, o, show)
		if next == nil {
			return rep, err
		}
		rep = joined(rep, next)
		if err != nil {
			return x.afterPhase(ctx, first, rep, err, o, show)
		}
		done = now
	}
	if waits != "" {
		return rep, errors.New(waits)
	}
	rep, err := x.confirmed(rep, nil, o)
	return rep, leftAs(done, err)
}

// untold is an error when a plan would change what was not told before it.
func untold(now *plan.Plan, told []plan.Later) error {
	removes := func(a plan.Action) bool { return a == plan.Remove || a == plan.Purge }
	for _, c := range now.Changes {
		was := slices.ContainsFunc(told, func(l plan.Later) bool {
			return l.Addr == c.Addr &&
				removes(l.Action) == removes(c.Action)
		})
		if c.Action.Mutates() && !was {
			return fmt.Errorf("%w: the next phase would also %s %s, which was not in the plan; earlier phases stay applied; to see the remaining changes: fettle plan", executor.ErrStale, c.Action, c.Addr)
		}
	}
	return nil
}

// unbased is the digest of a plan without the run that it starts from.
func unbased(p *plan.Plan) string {
	q := *p
	q.Base = 0
	return q.Digest()
}

// waiting explains why states are deferred permanently, "" for none.
func waiting(held []executor.Deferred) string {
	for _, h := range held {
		if len(h.Needs) > 0 {
			return fmt.Sprintf("cannot continue: %s (%s) needs the output of %s, which no run produced; check that the command is not lazy and writes the declared output", h.ID, h.Source, addresses(
				h.Needs))
		}
	}
	return ""
}

// joined is one report of two runs of the same apply.
func joined(a, b *executor.Report) *executor.Report {
	out := *b
	if out.Runs = a.Runs; len(out.Runs) == 0 && a.Run > 0 {
		out.Runs = []int{a.Run}
	}
	if b.Run > 0 {
		out.Runs = append(slices.Clone(out.Runs), b.Run)
	} else {
		out.Run = a.Run
	}
	out.Changed += a.Changed
	out.Checks = append(slices.Clone(a.Checks), b.Checks...)
	out.Notes = append(slices.Clone(a.Notes), b.Notes...)
	out.Duration += a.Duration
	return &out
}

// afterPhase ends an apply in which a later phase failed. If that phase was undone, the
// phases before it are undone too.
func (x *runs) afterPhase(ctx context.Context, first int, rep *executor.Report, cause error, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	if rep.Outcome != journal.RolledBack || first == 0 {
		return rep, cause
	}
	base, err := x.baseOf(first)
	if err != nil {
		return rep, errors.Join(cause, err)
	}
	o.Command = fmt.Sprintf("%s: undoing run %d, the phase before", o.Command, first)
	back, err := x.backTo(ctx, base, o, show)
	if err != nil {
		return rep, errors.Join(cause, fmt.Errorf("and the phases before could not be undone; run: fettle rollback %d: %w",
			base, err))
	}
	rep.Runs = append(rep.Runs, back.Run)
	return rep, errors.Join(cause, x.store.Disarm())
}
