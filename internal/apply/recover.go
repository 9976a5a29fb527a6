package apply

import (
	"context"
	"errors"
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// Recover finishes or undoes the run that a crash interrupted, according to the policy in its header.
// It is idempotent, and can itself be killed at any point. ok is false if there is no interrupted run.
func (r *Runner) Recover(ctx context.Context) (res Result, ok bool, err error) {
	number, ok, err := r.Store.Unfinished()
	if err != nil || !ok {
		return Result{}, ok, err
	}
	x, err := r.reopen(ctx, number)
	if err != nil {
		return Result{Run: number}, true, fmt.Errorf("cannot recover run %d: %w", number, err)
	}
	defer x.j.Close()
	x.note(fmt.Sprintf("run %d was interrupted; it is now %s", number, map[bool]string{true: "continued", false: "undone"}[x.goesOn()]))
	if !x.goesOn() {
		res, err = x.undoRun()
		return res, true, err
	}
	if err := x.goOn(); err != nil {
		return x.result(), true, err
	}
	x.leaveWhole()
	res, err = x.finish()
	return res, true, err
}

// goOn finishes the run. Validations and actions for failures may not have run yet.
func (r *run) goOn() error {
	for i := range r.plan.Changes {
		if r.m.Status(i) == Failed {
			if err := r.failureActs(i); err != nil {
				return err
			}
		}
	}
	for r.failed == nil || r.goesOnAfter() {
		err := r.validateInPlace(r.made())
		if err == nil {
			return r.forward()
		}
		if !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// made returns the indexes of the changes that are done.
func (r *run) made() []int {
	var out []int
	for i := range r.plan.Changes {
		if r.m.Status(i) == Done {
			out = append(out, i)
		}
	}
	return out
}

// goesOn reports whether the interrupted run is finished instead of undone.
func (r *run) goesOn() bool { return r.header.OnCrash == Finish && !r.undoing }

// reopen reconstructs the run from its journal and the state of the host.
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
	if err := fits(recs, job.Plan); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	x := r.newRun(ctx, job)
	x.header, x.j, x.began = h, j, recs[0].At
	if err := x.reap(recs); err != nil {
		return nil, err
	}
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

// dropTemps removes all temporary files that the journal names, and no other files.
func (r *run) dropTemps(recs []journal.Record) error {
	var errs []error
	for _, rec := range recs {
		if rec.Temp != "" {
			r.sweep(path.Dir(rec.Temp))
			errs = append(errs, move.RemoveTemp(r.Host, rec.Temp))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot remove the staged files: %w", err)
	}
	return nil
}

// lookAtOpen determines the state of the changes that were in progress. It examines the host to find
// out whether each change has taken effect.
func (r *run) lookAtOpen(recs []journal.Record) error {
	seen := map[int]bool{}
	for _, rec := range recs {
		i := rec.Change
		open := (rec.Kind == journal.Move || rec.Kind == journal.Intent) && !rec.Back && rec.Addr.Kind() != addr.KindAct
		if !open || i >= len(r.fx) || seen[i] || r.m.Status(i) == Done || r.m.Status(i) == Undone {
			continue
		}
		seen[i] = true
		look := r.lookAtMover
		if isPath(rec.Addr) {
			look = r.lookAtPath
		}
		if err := look(i); err != nil {
			return err
		}
	}
	return nil
}

// lookAtPath determines the state of a path change whose batch was not completed.
func (r *run) lookAtPath(i int) error {
	fx := &r.fx[i]
	for _, pm := range fx.moves {
		now, err := r.whole(pm)
		if err != nil {
			return err
		}
		switch {
		case now.File.Same(pm.from) && !pm.touched(now.File): // not begun
			fx.moves = nil
			return r.isBack(i, pm)
		case r.m.Status(i) == Failed:
			fx.moves = nil // it was restored before that was recorded
			return nil
		case !r.goesOn():
			fx.changed = true
			r.m.Set(i, Done) // so that it is undone
		case now.File.Same(pm.to):
			return r.visible(i, pm)
		default:
			return r.untear(i, pm)
		}
	}
	return nil
}

// isBack records that a path has its state from before its change. A later recovery must not examine
// the path again: the undo of an earlier change may put another object there.
func (r *run) isBack(i int, pm pathMove) error {
	if r.m.Status(i) == Failed {
		return nil // the record contains this already
	}
	return r.ahead(journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path, Back: true})
}

// visible records a move whose rename has happened, and makes the rename durable.
func (r *run) visible(i int, pm pathMove) error {
	if err := move.SyncFS(r.Host, []string{path.Dir(pm.path)}); err != nil {
		return err
	}
	r.fx[i].changed = true
	r.m.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path}
	return r.log(append([]journal.Record{rec}, r.settled(i)...)...)
}

// untear completes the undo of a partly restored path, so that the change can be made again. If
// another process has changed the path, it stays, and the change fails.
func (r *run) untear(i int, pm pathMove) error {
	r.fx[i].moves = nil
	m, err := r.backMove(i, pm)
	if err != nil {
		return r.unfinished(i, fmt.Errorf("the run was interrupted during this change, and %w; examine it, then run fettle apply again", err))
	}
	if m == nil {
		return nil
	}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

// unfinished marks change i as failed; the recovery continues.
func (r *run) unfinished(i int, err error) error {
	if err = r.fail(i, EngineFailed, err); errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// lookAtMover determines the state of a change that is not a path.
func (r *run) lookAtMover(i int) error {
	s, fx := r.m.Step(i), &r.fx[i]
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil
	}
	if s.Verb == step.Pkg {
		if err := r.configurePackages(); err != nil {
			return err
		}
	}
	if s.Verb == step.Unit {
		r.daemonReload() // systemd first executes the pending requests of the killed run, and shows them only afterwards
	}
	now, err := v.Observe(r.ctx, r.env, s)
	if err != nil {
		return r.unseen(i, err)
	}
	intended := fx.from.Known()
	if !intended { // at most its home directory was removed
		fx.from, fx.to = now, now
	}
	known := s.Verb != step.Exec || now.Exec.Known
	begun := !known || !now.Same(fx.from) || r.remains(now, fx.from)
	switch {
	case !r.goesOn():
		r.openBack(v, i, now, begun)
	case r.m.Status(i) == Failed:
		fx.changed = begun
	case !begun: // it is made again from the beginning
		if intended && accounts(s.Verb) {
			fx.found = fx.from // it may be partly done in a way that its image does not show
			if r.homeMade(i) {
				return r.homeAway(i)
			}
		}
	case !known:
		return r.unsure(i)
	case intended && accounts(s.Verb):
		r.complete(v, i) // the account files are changed one after the other
		if now, err = v.Observe(r.ctx, r.env, s); err != nil {
			return r.unseen(i, err)
		}
		return r.resumed(v, i, now)
	default:
		return r.resumed(v, i, now)
	}
	return nil
}

// openBack marks an interrupted change for the undo. An account can be partly created without showing
// it; it is completed first, because the undo starts from a complete account.
func (r *run) openBack(v verb.Verb, i int, now image.Image, begun bool) {
	s, fx := r.m.Step(i), &r.fx[i]
	if !begun && !accounts(s.Verb) && len(fx.moves) == 0 {
		return
	}
	if accounts(s.Verb) && fx.to.Known() {
		r.complete(v, i)
		if whole, err := v.Observe(r.ctx, r.env, s); err == nil {
			now = whole
		}
	}
	fx.changed = true
	if s.Verb != step.Exec {
		fx.to = now
	}
	r.m.Set(i, Done)
}

// complete makes the remaining part of an interrupted change.
func (r *run) complete(v verb.Verb, i int) {
	if err := v.(verb.Mover).Move(r.ctx, r.env, r.m.Step(i), r.fx[i].from, r.fx[i].to); err != nil {
		r.note(fmt.Sprintf("%s is partly changed: %v", r.plan.Changes[i].Addr, err))
	}
	r.Names.Forget()
}

// resumed records a change that the interrupted run completed. A partly done change is made again; its
// first before-image is kept.
func (r *run) resumed(v verb.Verb, i int, now image.Image) error {
	fx := &r.fx[i]
	t, err := r.leadsTo(v, i, now)
	if err != nil || !t.Same(now) || r.remains(now, t) {
		fx.found = fx.from
		return nil
	}
	if r.homeMade(i) { // all of it again
		if err := r.homeAway(i); err != nil {
			return err
		}
		fx.found = fx.from
		return v.(verb.Mover).Move(r.ctx, r.env, r.m.Step(i), now, fx.from)
	}
	fx.to, fx.changed = now, true
	if err := r.settleMachine(); err != nil {
		return err
	}
	r.m.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(fx.from), To: known(now)}
	return r.log(append([]journal.Record{rec}, r.settled(i)...)...)
}

// homeMade reports whether the change creates an account with its home directory.
func (r *run) homeMade(i int) bool {
	from := r.fx[i].from.User
	return from != nil && !from.Present && from.HomeMade && r.fx[i].to.User != nil
}

// homeAway stores and removes the home directory that an interrupted attempt created. Its owner and
// content may not be on the disk, and tools do not change an existing home directory.
func (r *run) homeAway(i int) error {
	home := r.fx[i].to.User.Home
	taken, err := capture.TakeTree(r.Host, r.Store, home)
	if err != nil || taken.Type != image.Directory || path.Clean(home) == "/" {
		return err
	}
	away := &move.Move{Change: i, Path: home, From: taken, To: image.File{Type: image.Absent}, Temp: move.TempFor(home, r.header.Run, i, true)}
	_, err = r.commit(&move.Batch{Moves: []*move.Move{away}}, true)
	return err
}

// unseen handles a change whose address cannot be examined now.
func (r *run) unseen(i int, err error) error {
	if r.goesOn() {
		return r.unfinished(i, err)
	}
	if r.fx[i].from.Known() {
		r.fx[i].changed = true
		r.m.Set(i, Done) // the undo determines whether that is possible
	}
	return nil
}

// unsure stops at a command that was running when the run was interrupted. fettle cannot detect
// whether it took effect, and it must not take effect twice.
func (r *run) unsure(i int) error {
	r.fx[i].changed = false
	return r.unfinished(i, errors.New("the run was interrupted while the command was running, and no guard can detect whether it took effect; examine the host, then run fettle apply, which runs the command again"))
}
