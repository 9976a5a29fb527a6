package apply

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/verbs"
)

// Recover settles the run that a crash left unfinished, as its header says: it
// is taken back, or finished. It is idempotent and may itself be killed at any
// point. ok is false when there is nothing to settle.
func (r *Runner) Recover(ctx context.Context) (res Result, ok bool, err error) {
	number, ok, err := r.Store.Unfinished()
	if err != nil || !ok {
		return Result{}, ok, err
	}
	x, err := r.reopen(ctx, number)
	if err != nil {
		return Result{Run: number}, true, fmt.Errorf("cannot settle run %d: %w", number, err)
	}
	defer x.j.Close()
	x.note(fmt.Sprintf("run %d was cut short; %s", number, map[bool]string{true: "going on with it", false: "taking it back"}[x.goesOn()]))
	if !x.goesOn() {
		res, err = x.takeBack()
		return res, true, err
	}
	if x.failed == nil {
		if err := x.forward(); err != nil {
			return x.result(), true, err
		}
	}
	res, err = x.finish()
	return res, true, err
}

// goesOn tells whether an interrupted run is finished rather than undone.
func (r *run) goesOn() bool { return r.header.OnCrash == Finish && !r.undoing }

// reopen builds the run again from its journal and from what is on the machine.
func (r *Runner) reopen(ctx context.Context, number int) (*run, error) {
	j, recs, err := r.Store.Resume(number)
	if err != nil {
		return nil, err
	}
	if len(recs) == 0 || recs[0].Header == nil {
		return nil, errors.New("its journal has no beginning")
	}
	h := *recs[0].Header
	if r.OnCrash != "" {
		h.OnCrash = r.OnCrash
	}
	job, err := r.jobOf(h)
	if err != nil {
		return nil, err
	}
	x := r.newRun(ctx, job)
	x.header, x.j = h, j
	if err := x.dropTemps(recs); err != nil {
		return nil, err
	}
	x.replay(recs)
	return x, x.lookAtOpen(recs)
}

func (r *Runner) jobOf(h journal.Header) (Job, error) {
	text, err := r.Store.ReadObject(h.Plan)
	if err != nil {
		return Job{}, err
	}
	var p plan.Plan
	if err := journal.Unmarshal(text, &p); err != nil {
		return Job{}, fmt.Errorf("cannot read its plan: %w", err)
	}
	if text, err = r.Store.ReadObject(h.List); err != nil {
		return Job{}, err
	}
	list, ds := step.Parse("list", text)
	if err := ds.Err(); err != nil {
		return Job{}, err
	}
	base, err := r.Store.StateAt(h.Base)
	if err != nil {
		return Job{}, err
	}
	job := Job{Plan: &p, List: list, Header: h, Base: base}
	if h.Operation == journal.OpRollback {
		goal, err := r.Store.StateAt(h.To)
		if err != nil {
			return Job{}, err
		}
		job.Goal = goal.Entries
	}
	return job, nil
}

// dropTemps removes every temporary that the journal names, and no other.
func (r *run) dropTemps(recs []journal.Record) error {
	var errs []error
	for _, rec := range recs {
		if rec.Temp != "" {
			errs = append(errs, move.RemoveTemp(r.Host, rec.Temp))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot remove what was staged: %w", err)
	}
	return nil
}

// replay puts what the journal says into the machine and the effects.
func (r *run) replay(recs []journal.Record) {
	done := map[int]bool{}
	for _, rec := range recs {
		if rec.Kind == journal.Done {
			done[rec.Batch] = true
		}
		r.batch = max(r.batch, rec.Batch)
	}
	for _, rec := range recs {
		r.replayOne(rec, done)
	}
}

func (r *run) replayOne(rec journal.Record, done map[int]bool) {
	i := rec.Change
	if rec.Back || i < 0 || i >= len(r.fx) {
		return
	}
	fx := &r.fx[i]
	switch rec.Kind {
	case journal.Undoing:
		r.undoing = true
	case journal.Move:
		fx.moves = append(fx.moves, pathMove{rec.Path, *rec.From.File, *rec.To.File, rec.InPlace})
		if isPath(rec.Addr) {
			fx.from, fx.to = *rec.From, *rec.To
		}
		if done[rec.Batch] {
			fx.changed = true
			r.m.Set(i, Done)
		}
		r.reload = r.reload || isUnitFile(rec.Path)
	case journal.Intent:
		if rec.From != nil {
			fx.from = *rec.From
		}
		if rec.To != nil {
			fx.to = *rec.To
		}
	case journal.Result:
		r.replayResult(rec, fx)
	case journal.Pending:
		r.notify(rec)
	case journal.Fired:
		if rec.Addr == r.plan.Changes[i].Addr && rec.Error == "" {
			delete(r.pending, rec.Addr)
			fx.fired, fx.changed = true, true
			r.m.Set(i, Done)
		}
	case journal.Checked:
		// Checks run again: what they saw may no longer hold.
	}
}

func (r *run) replayResult(rec journal.Record, fx *effect) {
	if rec.From != nil {
		fx.from = *rec.From
	}
	if rec.To != nil {
		fx.to = *rec.To
	}
	if rec.Error != "" {
		c := r.plan.Changes[rec.Change]
		r.m.Set(rec.Change, Failed)
		r.failed = &Failure{Class: StepFailed, Addr: c.Addr, Step: c.Step, Source: c.Source, Error: rec.Error}
		return
	}
	fx.changed = true
	r.m.Set(rec.Change, Done)
}

func (r *run) notify(rec journal.Record) {
	c := r.plan.Changes[rec.Change]
	p := r.pending[rec.Addr]
	if p.Run != r.header.Run {
		p = journal.PendingAct{Addr: rec.Addr, Step: c.Step, Cause: slices.Clone(p.Cause), Run: r.header.Run}
	}
	p.Cause = append(p.Cause, rec.Cause...)
	r.pending[rec.Addr] = p
}

// lookAtOpen settles the changes that were under way: the machine itself tells
// on which side of its move each is.
func (r *run) lookAtOpen(recs []journal.Record) error {
	seen := map[int]bool{}
	for _, rec := range recs {
		i := rec.Change
		open := (rec.Kind == journal.Move || rec.Kind == journal.Intent) && !rec.Back
		if !open || seen[i] || i >= len(r.fx) || r.m.Status(i) == Done {
			continue
		}
		seen[i] = true
		if err := r.lookAt(i); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) lookAt(i int) error {
	fx := &r.fx[i]
	for _, pm := range fx.moves {
		now, err := r.whole(pm)
		if err != nil {
			return err
		}
		switch {
		case now.File.Same(pm.from): // not begun
		case now.File.Same(pm.to) && isPath(r.plan.Changes[i].Addr) && r.goesOn():
			// Visible, and durable only from here on.
			if err := r.Host.SyncFS(path.Dir(pm.path)); err != nil {
				return err
			}
			fx.changed = true
			r.m.Set(i, Done)
			if err := r.log(append([]journal.Record{{Kind: journal.Result, Change: i, Path: pm.path}}, r.settled(i)...)...); err != nil {
				return err
			}
		default:
			fx.changed = true
			if !r.goesOn() {
				r.m.Set(i, Done) // so that it is taken back
			} else if err := r.untear(i, pm); err != nil {
				return err
			}
		}
	}
	if len(fx.moves) > 0 && isPath(r.plan.Changes[i].Addr) {
		if r.m.Status(i) != Done {
			fx.moves = nil
		}
		return nil
	}
	return r.lookAtMover(i)
}

// untear puts a path that was being changed in place back, so that the change
// can be done again.
func (r *run) untear(i int, pm pathMove) error {
	m, err := r.backMove(i, pm)
	if err != nil {
		return err
	}
	r.fx[i].changed = false
	if m == nil {
		return nil
	}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

func (r *run) lookAtMover(i int) error {
	s := r.m.Step(i)
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil
	}
	if s.Verb == step.Pkg {
		if err := r.settlePackages(); err != nil {
			return err
		}
	}
	now, err := v.Observe(r.ctx, r.env, s)
	if err != nil {
		return err
	}
	fx := &r.fx[i]
	if now.Known() && now.Same(fx.from) && (s.Verb != step.Exec || now.Exec.Known) {
		return nil // it had not begun, or left nothing
	}
	fx.changed = true
	if s.Verb != step.Exec {
		fx.to = now
	}
	if !r.goesOn() {
		r.m.Set(i, Done) // so that it is taken back
		return nil
	}
	if s.Verb == step.Exec && !now.Exec.Known {
		return r.unsure(i)
	}
	if t, err := v.Target(s, now, r.Names); err == nil && t.Same(now) {
		r.m.Set(i, Done)
		return r.log(append([]journal.Record{{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(fx.from), To: known(now)}}, r.settled(i)...)...)
	}
	return nil
}

// unsure stops at a command that was running when the crash came: nothing can
// tell whether it took effect, and it must not take effect twice.
func (r *run) unsure(i int) error {
	r.fx[i].changed = false
	err := r.fail(i, EngineFailed, errors.New("it was running when the run was cut short, and it has no guard that could tell whether it took effect; look, then run fettle apply again, which runs it again"))
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}
