package local

import (
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Status implements executor.Executor.
func (x *Executor) Status(ctx context.Context) (executor.Status, error) {
	var s executor.Status
	var err error
	if s.State, err = x.store.State(); err != nil {
		return s, fmt.Errorf("cannot read the applied state: %w", err)
	}
	s.Notes = x.store.Notes()
	runs, err := x.store.Runs()
	if err != nil {
		return s, fmt.Errorf("cannot read the history: %w", err)
	}
	if n := len(runs); n > 0 {
		s.Last = &runs[n-1]
	}
	s.Condition, err = x.Condition(ctx)
	return s, err
}

// Condition implements executor.Executor.
func (x *Executor) Condition(context.Context) (c executor.Condition, err error) {
	if run, open, err := x.store.Unfinished(); err != nil {
		return c, err
	} else if open {
		c.Unfinished = run
	}
	if c.Frozen, err = x.store.Frozen(); err != nil {
		return c, err
	}
	if c.Armed, err = x.store.ArmedRun(); err != nil {
		return c, err
	}
	c.Locked, err = x.holder()
	return c, err
}

// holder identifies the holder of the lock, "" for none.
func (x *Executor) holder() (string, error) {
	by, err := x.store.LockHolder()
	if err != nil {
		return "", nil // a status is worth having without the right to lock
	}
	return by, nil
}

// Runs implements executor.Executor.
func (x *Executor) Runs(_ context.Context) ([]journal.RunInfo, error) { return x.store.Runs() }

// RunOf implements executor.Executor.
func (x *Executor) RunOf(_ context.Context, commit string) (int, bool, error) {
	runs, err := x.store.Runs()
	if err != nil {
		return 0, false, fmt.Errorf("cannot read the history: %w", err)
	}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		if c := r.Header.Revision.Commit; c != "" && strings.HasPrefix(c, commit) && r.Outcome != journal.RolledBack {
			return r.Header.Run, true, nil
		}
	}
	return 0, false, nil
}

// Show implements executor.Executor.
func (x *Executor) Show(_ context.Context, run int) (executor.Shown, error) {
	var s executor.Shown
	runs, err := x.store.Runs()
	if err != nil {
		return s, fmt.Errorf("cannot read the history: %w", err)
	}
	for _, r := range runs {
		if r.Header.Run == run {
			s.Info = r
		}
	}
	if s.Info.Header.Run == 0 {
		return s, fmt.Errorf("there is no run %d; to list the stored runs: fettle log", run)
	}
	text, err := x.store.ReadObject(s.Info.Header.Plan)
	if err != nil {
		return s, err
	}
	if s.Plan, err = plan.Read(text); err != nil {
		return s, fmt.Errorf("cannot read the plan of run %d: %w", run, err)
	}
	if s.Info.Header.Map != "" {
		var all []storedState
		if err := x.object(s.Info.Header.Map, &all); err != nil {
			return s, err
		}
		s.States = statesOf(all)
	}
	recs, err := x.store.Read(run)
	if err != nil {
		return s, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	s.Invocations = invocations(s.Plan, s.States, outcomes(s.Plan, recs))
	return s, nil
}

// outcome of a part, by change.
type outcome struct{ text, err string }

// outcomes reads the outcome of each change from the journal.
func outcomes(p *plan.Plan, recs []journal.Record) map[int]outcome {
	out := map[int]outcome{}
	batches := map[int][]int{}
	for _, rec := range recs {
		i := rec.Change
		switch rec.Kind {
		case journal.Move:
			batches[rec.Batch] = append(batches[rec.Batch], i)
		case journal.Done:
			for _, i := range batches[rec.Batch] {
				out[i] = outcome{text: doneOr(rec.Back)}
			}
		case journal.Result, journal.Fired, journal.Checked:
			if rec.Addr != "" && i < len(p.Changes) && rec.Addr != p.Changes[i].Addr {
				continue // an action that listens for a failure
			}
			out[i] = outcome{text: doneOr(rec.Back)}
			if rec.Error != "" {
				out[i] = outcome{"failed", rec.Error}
			}
		case journal.Undone:
			for i, o := range out {
				if o.text == "done" && p.Changes[i].Action.Mutates() {
					out[i] = outcome{text: "undone"}
				}
			}
		}
	}
	return out
}

func doneOr(back bool) string {
	if back {
		return "undone"
	}
	return "done"
}

// invocations groups the parts of a run by the state that they belong to, in
// plan order.
func invocations(p *plan.Plan, states []executor.StateRef, how map[int]outcome) []executor.Invocation {
	owner := map[addr.Addr]executor.StateRef{}
	for _, s := range states {
		for _, a := range s.Addrs {
			owner[a] = s
		}
	}
	var out []executor.Invocation
	for i, c := range p.Changes {
		st, ok := owner[c.Addr]
		if !ok {
			st = executor.StateRef{ID: string(c.Addr), Source: c.Source}
		}
		if n := len(out); n == 0 || out[n-1].State != st.ID || len(c.Cause) > 0 {
			out = append(out, executor.Invocation{State: st.ID, Source: st.Source, Cause: c.Cause})
		}
		o, ran := how[i]
		if !ran {
			o.text = "skipped"
			if !c.Action.Mutates() && c.Action != plan.Verify && c.Action != plan.Wait {
				o.text = "done"
			}
		}
		inv := &out[len(out)-1]
		inv.Parts = append(inv.Parts, executor.Part{Addr: c.Addr, Action: c.Action, Outcome: o.text, Error: o.err})
	}
	return out
}
