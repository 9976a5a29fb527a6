package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	slashpath "path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/exec"
)

// staged plans the first stage of a request that the machine has not passed. A
// list without phases, of which nothing is held, is one stage.
func staged(r executor.Request, in plan.Input) (*plan.Plan, diag.List) {
	stages := r.List.Stages()
	for k, list := range stages {
		in.Wanted, in.More, in.Later = list, k+1 < len(stages) || len(r.Held) > 0, nil
		if k+1 < len(stages) {
			if in.Later = r.List.Later(k + 1); plan.Passed(in) {
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
		p.Later = append(later(in, p, stages[k+1:], len(r.Held) > 0), held(r.Held)...)
		return p, ds
	}
	return nil, nil // the last stage is never passed
}

// later tells what the stages after a plan will do, as far as that can be told
// before it ran.
func later(in plan.Input, p *plan.Plan, stages []step.List, more bool) []plan.Later {
	var out []plan.Later
	in.Missing = nil // the stages before may bring it
	for k, list := range stages {
		in = in.After(p)
		in.Wanted, in.More, in.Later = list, k+1 < len(stages) || more, nil
		next, ds := plan.Make(in)
		if ds.HasErrors() {
			return append(out, plan.Later{Why: fmt.Sprintf("phase %d: planned after the phases before it", p.Stage+k+1)})
		}
		for _, c := range next.Changes {
			if c.Action.Mutates() {
				out = append(out, plan.Later{Action: c.Action, Addr: c.Addr, Source: c.Source, Why: fmt.Sprintf("phase %d: %s", p.Stage+k+1, c.Why)})
			}
		}
		p, next.Stage = next, p.Stage
	}
	return out
}

func held(states []executor.Held) []plan.Later {
	var out []plan.Later
	for _, h := range states {
		l := plan.Later{Addr: h.Addr, State: h.ID, Source: h.Source, Why: "after a state that waits for an output"}
		if h.Waits != "" {
			l.Why = h.Waits
		}
		if len(h.Needs) > 0 {
			l.Why = "needs the output of " + addresses(h.Needs)
		}
		out = append(out, l)
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

// informed compiles the request again with the outputs that the machine has by now, until
// no further outputs are found.
func (x *Executor) informed(r *executor.Request) error {
	for range step.MaxPhases {
		if r.Next == nil {
			return nil
		}
		known, err := x.known(r.Outputs)
		if err != nil || maps.Equal(known, r.Known) {
			return err
		}
		next, err := r.Next(known)
		if err != nil {
			return err
		}
		next.Repair, next.Diffs, next.Verify, next.Guards = r.Repair, r.Diffs, r.Verify, r.Guards
		next.Repository, next.Adopt = r.Repository, r.Adopt
		*r = next
	}
	return errors.New("the outputs of commands lead to new commands without end; check the states that use .result")
}

// known returns the known outputs: the text that a command with exactly this step
// printed, or the present content of the file that it writes.
func (x *Executor) known(refs []executor.OutputRef) (executor.Known, error) {
	st, err := x.store.State()
	if err != nil {
		return nil, fmt.Errorf("cannot read the applied state: %w", err)
	}
	entries := make(map[addr.Addr]journal.Entry, len(refs))
	for _, e := range st.Entries {
		if e.Addr.Kind() == addr.KindExec {
			entries[e.Addr] = e
		}
	}
	out := executor.Known{}
	for _, ref := range refs {
		l, ds := step.Parse("output", []byte(ref.Step))
		if ds.Err() != nil || len(l) != 1 {
			continue
		}
		e := entries[ref.Addr]
		if path := l[0].Get("output"); path != step.OutputStdout {
			if text, ok, err := x.outputFile(path); err != nil {
				return nil, fmt.Errorf("cannot use %s, the output of %s: %w", path, ref.Addr, err)
			} else if ok {
				out[ref.Addr] = text
			}
		} else if e.Output != nil && e.Step == ref.Step {
			out[ref.Addr] = *e.Output
		}
	}
	return out, nil
}

// outputFile reads a file that a command wrote, also through links; ok is false
// where there is none.
func (x *Executor) outputFile(path string) (text string, ok bool, err error) {
	const links = 8
	for range links {
		st, err := x.host.Lstat(path)
		if err != nil || st.Type != image.Symlink {
			break
		}
		to, err := x.host.Readlink(path)
		if err != nil {
			break
		}
		if path = slashpath.Join(slashpath.Dir(path), to); slashpath.IsAbs(to) {
			path = slashpath.Clean(to)
		}
	}
	f, err := x.host.Open(path)
	if err != nil && (errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err)) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, exec.MaxOutput+2))
	if err != nil {
		return "", false, err
	}
	text, err = exec.Output(b)
	return text, err == nil, err
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

// follow runs the remaining phases after a successful run, each phase as a separate run,
// until no change is necessary. rep is the report of the runs before.
func (x *Executor) follow(ctx context.Context, r executor.Request, done *plan.Plan, rep *executor.Report, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	first, waits, told := rep.Run, "", done.Later
	seen := map[string]bool{unbased(done): true}
	for done.More() || r.Next != nil {
		known := r.Known
		if err := x.informed(&r); err != nil {
			return rep, err
		}
		now, st, todo, err := x.look(ctx, &r)
		if err != nil {
			return rep, err
		}
		if !todo || len(r.Held) > 0 && now.Empty() && maps.Equal(known, r.Known) {
			waits, done = waiting(r.Held), now
			break
		}
		if seen[unbased(now)] {
			return rep, fmt.Errorf("cannot finish: run %d made its planned changes, and the next plan has the same changes again; to see them: fettle plan", rep.Run)
		}
		if err := untold(now, told); o.Exact && err != nil {
			return rep, err
		}
		seen[unbased(now)] = true
		o.Continues = rep.Run
		o = o.For(now)
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
		was := slices.ContainsFunc(told, func(l plan.Later) bool { return l.Addr == c.Addr && removes(l.Action) == removes(c.Action) })
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
func waiting(held []executor.Held) string {
	for _, h := range held {
		if len(h.Needs) > 0 {
			return fmt.Sprintf("cannot continue: %s (%s) needs the output of %s, which no run produced; check that the command is not lazy and writes the declared output", h.ID, h.Source, addresses(h.Needs))
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
func (x *Executor) afterPhase(ctx context.Context, first int, rep *executor.Report, cause error, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
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
		return rep, errors.Join(cause, fmt.Errorf("and the phases before could not be undone; run: fettle rollback %d: %w", base, err))
	}
	rep.Runs = append(rep.Runs, back.Run)
	return rep, errors.Join(cause, x.store.Disarm())
}

// baseOf is the run from whose state an apply started. run may be any phase of the apply.
func (x *Executor) baseOf(run int) (int, error) {
	for {
		recs, err := x.store.Read(run)
		if err != nil || len(recs) == 0 || recs[0].Header == nil {
			return 0, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
		}
		h := recs[0].Header
		if h.Continues <= 0 || h.Continues >= run {
			return h.Base, nil
		}
		run = h.Continues
	}
}
