package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// fake is an engine whose machine is a JSON file in the state directory. It
// writes no managed file: it is there to show what the command line does with
// an engine's answers, the bad ones too. FETTLE_FAKE in the environment of a
// script makes it fail in one way.
type fake struct {
	file string
	mode string
	fakeState
}

type fakeState struct {
	State  journal.State
	Past   []fakeRun
	Frozen *journal.Frozen
	Armed  *journal.Arming
	Ran    []journal.Command
}

type fakeRun struct {
	Info   journal.RunInfo
	List   string
	Plan   *plan.Plan
	States []executor.StateRef
	After  []journal.Entry
}

// fakeNow is when everything happens.
var fakeNow = time.Date(2026, 11, 21, 4, 21, 57, 0, time.UTC)

func openFake(mode string) func(context.Context, cli.Machine) (executor.Executor, func() error, error) {
	return func(_ context.Context, m cli.Machine) (executor.Executor, func() error, error) {
		f := &fake{file: filepath.Join(m.State, "fake.json"), mode: mode}
		if text, err := os.ReadFile(f.file); err == nil {
			if err := json.Unmarshal(text, &f.fakeState); err != nil {
				return nil, nil, err
			}
		}
		return f, func() error { return nil }, nil
	}
}

func (f *fake) save() error {
	text, err := json.Marshal(f.fakeState)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(f.file, text, 0o600)
}

func fakeChange(s step.Step, action plan.Action, why string) plan.Change {
	c := plan.Change{Action: action, Addr: s.Addr(), Step: s.Stored(), Source: s.Source, Why: why, To: &image.Image{}}
	if s.Verb == step.Copy && action == plan.Update {
		c.Differences = []image.Difference{{Field: "content", Old: "sha256:" + strings.Repeat("a", 64), New: s.Blob()}}
		c.Diff = "--- old\n+++ new\n@@ -1 +1 @@\n-old \x1b[31mred\n+new\n"
	}
	if s.Verb == step.Exec && s.Get("undo") == "" {
		c.Irreversible = "the command has no undo"
	}
	return c
}

func (f *fake) Plan(_ context.Context, r executor.Request) (*plan.Plan, error) {
	if f.mode == "locked" {
		return nil, fmt.Errorf("cannot plan: %w by process 42", executor.ErrLocked)
	}
	if err := r.Fill(); err != nil {
		return nil, err
	}
	if err := executor.MayReplace(&r, f.State); err != nil {
		return nil, err
	}
	p := &plan.Plan{Format: 1, Operation: journal.OpApply, Target: r.Target, Base: f.State.Run, Revision: r.Revision,
		List: r.List.Digest()}
	was := map[addr.Addr]step.Step{}
	for _, e := range f.State.Entries {
		was[e.Addr] = e.Step
	}
	for _, s := range r.List {
		old, applied := was[s.Addr()]
		delete(was, s.Addr())
		switch {
		case s.Verb == step.Check:
			p.Changes = append(p.Changes, fakeChange(s, plan.Verify, "after the run"))
		case !applied && s.Verb == step.Exec:
			p.Changes = append(p.Changes, fakeChange(s, plan.Run, "it has not run yet"))
		case !applied:
			p.Changes = append(p.Changes, fakeChange(s, plan.Create, "new in the list"))
		case !old.Same(s):
			p.Changes = append(p.Changes, fakeChange(s, plan.Update, "changed in the list"))
		default:
			p.Unchanged++
		}
	}
	for _, e := range f.State.Entries {
		if _, gone := was[e.Addr]; gone {
			p.Changes = append(p.Changes, plan.Change{Action: plan.Remove, Addr: e.Addr, Applied: e.Step,
				Why: "no longer in the list", To: &image.Image{}})
		}
	}
	return p, nil
}

func (f *fake) Apply(ctx context.Context, r executor.Request, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	if err := r.Fill(); err != nil {
		return nil, err
	}
	now, err := f.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	o = o.For(now)
	if p != nil && p.Digest() != now.Digest() {
		return nil, fmt.Errorf("cannot apply: %w", executor.ErrStale)
	}
	if now.Empty() {
		return &executor.Report{Outcome: journal.Succeeded}, nil
	}
	entries := []journal.Entry{}
	run := len(f.Past) + 1
	for _, s := range r.List {
		if s.Verb == step.Check {
			continue
		}
		e := journal.Entry{Addr: s.Addr(), Step: s.Stored(), Src: s.Source, Run: run, FirstRun: run,
			Origin: new(image.Of(&image.File{Type: image.Absent}))}
		for _, old := range f.State.Entries {
			if old.Addr == e.Addr {
				if e.FirstRun = old.FirstRun; old.Step.Same(e.Step) {
					e.Run = old.Run
				}
			}
		}
		entries = append(entries, e)
	}
	owner := journal.RecordedIdentity(executor.Recording(&r, f.State))
	rep, err := f.run(now, r.List.String(), r.States, entries, o, show)
	f.State.Repository = owner
	return rep, errors.Join(err, f.save())
}

func (f *fake) run(p *plan.Plan, list string, states []executor.StateRef, after []journal.Entry, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	run := len(f.Past) + 1
	rep := &executor.Report{Run: run, Outcome: journal.Succeeded, Duration: 1234 * time.Millisecond}
	for i, c := range p.Changes {
		show(executor.Event{Kind: "start", Index: i, Total: len(p.Changes), Action: c.Action, Addr: c.Addr})
		if f.mode == "fail" && i == 1 {
			show(executor.Event{Kind: "failed", Index: i, Total: len(p.Changes), Action: c.Action, Addr: c.Addr,
				Text: "disk full"})
			rep.Outcome = journal.Failed
			rep.Failed = &executor.Failure{Class: "step", Addr: c.Addr, Step: c.Step.String(), Source: c.Source,
				Error: "cannot write: disk full"}
			rep.Remaining = []addr.Addr{c.Addr}
			break
		}
		if c.Action == plan.Verify {
			rep.Checks = append(rep.Checks, executor.CheckResult{Addr: c.Addr, Source: c.Source, OK: f.mode != "check"})
			continue
		}
		show(executor.Event{Kind: "done", Index: i, Total: len(p.Changes), Action: c.Action, Addr: c.Addr})
		rep.Changed++
	}
	if f.mode == "check" && p.Operation != journal.OpRollback {
		rep.Outcome = journal.CheckFailed
		if o.OnCheckFailure == "rollback" {
			rep.Outcome = journal.RolledBack
		}
	}
	if o.ConfirmWithin > 0 {
		f.Armed = &journal.Arming{Run: run, Deadline: fakeNow.Add(o.ConfirmWithin).UnixNano()}
		rep.ConfirmBy = f.Armed.Deadline
	}
	info := journal.RunInfo{
		Header: journal.Header{Format: 1, Run: run, Operation: p.Operation, Base: f.State.Run, To: p.To, Target: p.Target,
			Revision: p.Revision,
			List:     p.List, OnFailure: o.OnFailure, OnCrash: o.OnCrash, User: o.User, From: o.From, Command: o.Command,
			Version: o.Version},
		Started: fakeNow.UnixNano(), Ended: fakeNow.Add(rep.Duration).UnixNano(), Outcome: rep.Outcome, Changed: rep.Changed,
	}
	f.Past = append(f.Past, fakeRun{info, list, p, states, after})
	if rep.Outcome != journal.RolledBack {
		f.State = journal.State{Format: 1, Run: run, List: p.List, Target: p.Target, Entries: after,
			Complete: rep.Outcome == journal.Succeeded, Revision: p.Revision}
	}
	if err := f.save(); err != nil {
		return nil, err
	}
	switch rep.Outcome {
	case journal.Failed:
		return rep, errors.New("cannot finish the run: a step failed")
	case journal.CheckFailed:
		return rep, executor.ErrCheckFailed
	case journal.RolledBack:
		return rep, executor.ErrUndone
	}
	return rep, nil
}

func (f *fake) at(run int) fakeRun {
	if run < 1 || run > len(f.Past) {
		return fakeRun{}
	}
	return f.Past[run-1]
}

func (f *fake) PlanRollback(_ context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	to := f.at(r.To)
	p := &plan.Plan{Format: 1, Operation: journal.OpRollback, Target: f.State.Target, Base: f.State.Run, To: r.To,
		Revision: to.Info.Header.Revision, List: to.Info.Header.List}
	keep := map[addr.Addr]bool{}
	for _, e := range to.After {
		keep[e.Addr] = true
	}
	for _, e := range f.State.Entries {
		if keep[e.Addr] {
			p.Unchanged++
			continue
		}
		c := plan.Change{Action: plan.Remove, Addr: e.Addr, Applied: e.Step, Why: "not in the older list", To: &image.Image{}}
		if e.Addr.Kind() == addr.KindExec {
			c.Irreversible = "the command has no undo"
		}
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

func (f *fake) Rollback(ctx context.Context, r executor.RollbackRequest, _ *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	p, err := f.PlanRollback(ctx, r)
	if err != nil {
		return nil, err
	}
	to := f.at(r.To)
	return f.run(p, to.List, to.States, to.After, o, show)
}

func (f *fake) Drift(context.Context, executor.DriftOptions) (*plan.Plan, error) {
	p := &plan.Plan{Format: 1, Operation: journal.OpApply, Base: f.State.Run, Unchanged: len(f.State.Entries),
		Revision: f.State.Revision}
	if f.mode == "damaged" {
		p.Notes = []string{"the newest state was damaged and was made again from the journals"}
	}
	if f.mode == "drift" {
		p.Unchanged--
		p.Changes = []plan.Change{{Action: plan.Repair, Addr: f.State.Entries[0].Addr, Why: "changed since it was applied",
			Drifted: true, To: &image.Image{},
			Differences: []image.Difference{{Field: "mode", Old: "0777", New: "0755"},
				{Field: "owner", Old: "mallory\x1b[2J", New: "root"}}}}
	}
	return p, nil
}

func (f *fake) Recover(context.Context, executor.Options, func(executor.Event)) (*executor.Report, error) {
	if f.mode == "crashed" {
		return &executor.Report{Run: 1, Outcome: journal.RolledBack, Changed: 2, Duration: time.Second}, nil
	}
	if f.mode == "crashed-in-part" {
		return &executor.Report{Run: 1, Outcome: journal.Failed, Changed: 1, Remaining: []addr.Addr{"file:/etc/never"},
			NotUndone: []addr.Addr{"exec:migrate"},
			Notes:     []string{"exec:migrate has no undo, so its effects stay"}, Duration: time.Second}, nil
	}
	return nil, nil
}

func (f *fake) Confirm(context.Context, executor.Options) (int, error) {
	if f.Armed == nil {
		return 0, errors.New("cannot confirm: no run waits for it")
	}
	run := f.Armed.Run
	f.Armed = nil
	return run, f.save()
}

func (f *fake) Freeze(_ context.Context, z journal.Frozen, _ executor.Options) error {
	f.Frozen = &z
	return f.save()
}
func (f *fake) Unfreeze(context.Context, executor.Options) error { f.Frozen = nil; return f.save() }

func (f *fake) Status(context.Context) (executor.Status, error) {
	st := executor.Status{State: f.State, Condition: executor.Condition{Frozen: f.Frozen, Armed: f.Armed}}
	if n := len(f.Past); n > 0 {
		st.Last = &f.Past[n-1].Info
	}
	return st, nil
}

func (f *fake) Condition(ctx context.Context) (executor.Condition, error) {
	st, err := f.Status(ctx)
	return st.Condition, err
}

func (f *fake) Runs(context.Context) ([]journal.RunInfo, error) {
	var out []journal.RunInfo
	for _, r := range f.Past {
		out = append(out, r.Info)
	}
	return out, nil
}

func (f *fake) Show(_ context.Context, run int) (executor.Shown, error) {
	r := f.at(run)
	out := executor.Shown{Info: r.Info, Plan: r.Plan, States: r.States}
	for _, st := range r.States {
		inv := executor.Invocation{State: st.ID, Source: st.Source}
		for _, a := range st.Addrs {
			inv.Parts = append(inv.Parts, executor.Part{Addr: a, Action: plan.Create, Outcome: "done"})
		}
		out.Invocations = append(out.Invocations, inv)
	}
	return out, nil
}

// RunDetails implements executor.DetailsReader: the first change has a difference.
func (f *fake) RunDetails(ctx context.Context, run int, diffs bool) (executor.RunDetails, error) {
	s, err := f.Show(ctx, run)
	if err == nil && diffs && len(s.Plan.Changes) > 0 {
		p := *s.Plan
		p.Changes = slices.Clone(p.Changes)
		p.Changes[0].Diff = "--- a/srv\n+++ b/srv\n@@ -1 +1 @@\n-one\n+two\n"
		s.Plan = &p
	}
	return executor.RunDetails{Shown: s}, err
}

func (f *fake) RunOf(_ context.Context, commit string) (int, bool, error) {
	for i := len(f.Past) - 1; i >= 0; i-- {
		if h := f.Past[i].Info.Header; strings.HasPrefix(h.Revision.Commit, commit) {
			return h.Run, true, nil
		}
	}
	return 0, false, nil
}

func (f *fake) List(_ context.Context, run int) (step.List, error) {
	l, ds := step.Parse("list", []byte(f.at(run).List))
	return l, ds.Err()
}

func (f *fake) Collect(_ context.Context, keep journal.Retention, _ executor.Options) (journal.Collected, error) {
	return journal.Collected{Runs: []int{1}, Objects: 3, Bytes: 4096}, nil
}
