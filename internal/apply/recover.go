package apply

import (
	"errors"
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// goOn finishes the run. Validations and actions for failures may not have run yet.
func (r *recovery) goOn() error {
	for i := range r.plan.Changes {
		if r.machine.Status(i) == Failed {
			if err := r.failureActs(i); err != nil {
				return err
			}
		}
	}
	for r.failed == nil || r.goesOnAfter() {
		err := r.forward.validateInPlace(r.made())
		if err == nil {
			return r.forward.perform()
		}
		if !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// made returns the indexes of the changes that are done.
func (r *recovery) made() []int {
	var out []int
	for i := range r.plan.Changes {
		if r.machine.Status(i) == Done {
			out = append(out, i)
		}
	}
	return out
}

// goesOn reports whether the interrupted run is finished instead of undone.
func (r *recovery) goesOn() bool { return r.header.OnCrash == CrashFinish && !r.undoing }

// dropTemps removes all temporary files that the journal names, and no other files.
func (r *recovery) dropTemps(recs []journal.Record) error {
	var errs []error
	for _, rec := range recs {
		if rec.Temp != "" {
			r.batches.sweep(path.Dir(rec.Temp))
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
func (r *recovery) lookAtOpen(recs []journal.Record) error {
	seen := map[int]bool{}
	for _, rec := range recs {
		i := rec.Change
		open := (rec.Kind == journal.Move || rec.Kind == journal.Intent) && !rec.Back && rec.Addr.Kind() != addr.KindAct
		if !open || i >= len(r.effects) || seen[i] || r.machine.Status(i) == Done || r.machine.Status(i) == Undone {
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
func (r *recovery) lookAtPath(i int) error {
	fx := &r.effects[i]
	for _, pm := range fx.moves {
		now, err := r.batches.whole(pm)
		if err != nil {
			return err
		}
		switch {
		case now.File.Same(&pm.from) && !pm.touched(now.File): // not begun
			fx.moves = nil
			return r.isBack(i, pm)
		case r.machine.Status(i) == Failed:
			fx.moves = nil // it was restored before that was recorded
			return nil
		case !r.goesOn():
			fx.changed = true
			r.machine.Set(i, Done) // so that it is undone
		case now.File.Same(&pm.to):
			return r.visible(i, pm)
		default:
			return r.untear(i, pm)
		}
	}
	return nil
}

// visible records a move whose rename has happened, and makes the rename durable.
func (r *recovery) visible(i int, pm pathMove) error {
	if err := move.SyncFS(r.Host, []string{path.Dir(pm.path)}); err != nil {
		return err
	}
	r.effects[i].changed = true
	r.machine.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path}
	return r.log(append([]journal.Record{rec}, r.actions.notify(i)...)...)
}

// untear completes the undo of a partly restored path, so that the change can be made again. If
// another process has changed the path, it stays, and the change fails.
func (r *recovery) untear(i int, pm pathMove) error {
	r.effects[i].moves = nil
	m, err := r.batches.backMove(i, pm)
	if err != nil {
		return r.unfinished(i,
			fmt.Errorf("the run was interrupted during this change, and %w; examine it, then run fettle apply again", err))
	}
	if m == nil {
		return nil
	}
	_, err = r.batches.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

// unfinished marks change i as failed; the recovery continues.
func (r *recovery) unfinished(i int, err error) error {
	if err = r.fail(i, EngineFailed, err); errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// lookAtMover determines the state of a change that is not a path.
func (r *recovery) lookAtMover(i int) error {
	s, fx := r.machine.Step(i), &r.effects[i]
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil
	}
	if s.Verb == step.Pkg {
		if err := r.packages.configurePackages(); err != nil {
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
	known := s.Verb != step.Exec || now.Exec().Known
	begun := !known || !now.Same(fx.from) || r.packages.remains(now, fx.from)
	switch {
	case !r.goesOn():
		r.openBack(v, i, now, begun)
	case r.machine.Status(i) == Failed:
		fx.changed = begun
	case !begun: // it is made again from the beginning
		if intended && accounts(s.Verb) {
			fx.found = fx.from // it may be partly done in a way that its image does not show
			if r.homes.homeMade(i) {
				return r.homes.homeAway(i)
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
func (r *recovery) openBack(v verb.Verb, i int, now image.Image, begun bool) {
	s, fx := r.machine.Step(i), &r.effects[i]
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
	r.machine.Set(i, Done)
}

// complete makes the remaining part of an interrupted change.
func (r *recovery) complete(v verb.Verb, i int) {
	if err := v.(verb.Mover).Move(r.ctx, r.env, r.machine.Step(i), r.effects[i].from, r.effects[i].to); err != nil {
		r.note(fmt.Sprintf("%s is partly changed: %v", r.plan.Changes[i].Addr, err))
	}
	r.Names.Forget()
}

// resumed records a change that the interrupted run completed. A partly done change is made again; its
// first before-image is kept.
func (r *recovery) resumed(v verb.Verb, i int, now image.Image) error {
	fx := &r.effects[i]
	t, err := r.leadsTo(v, i, now)
	if err != nil || !t.Same(now) || r.packages.remains(now, t) {
		fx.found = fx.from
		return nil
	}
	if r.homes.homeMade(i) { // all of it again
		if err := r.homes.homeAway(i); err != nil {
			return err
		}
		fx.found = fx.from
		return v.(verb.Mover).Move(r.ctx, r.env, r.machine.Step(i), now, fx.from)
	}
	fx.to, fx.changed = now, true
	if err := r.settleMachine(); err != nil {
		return err
	}
	r.machine.Set(i, Done)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, From: known(fx.from),
		To: known(now)}
	return r.log(append([]journal.Record{rec}, r.actions.notify(i)...)...)
}

// unseen handles a change whose address cannot be examined now.
func (r *recovery) unseen(i int, err error) error {
	if r.goesOn() {
		return r.unfinished(i, err)
	}
	if r.effects[i].from.Known() {
		r.effects[i].changed = true
		r.machine.Set(i, Done) // the undo determines whether that is possible
	}
	return nil
}

// unsure stops at a command that was running when the run was interrupted. fettle cannot detect
// whether it took effect, and it must not take effect twice.
func (r *recovery) unsure(i int) error {
	r.effects[i].changed = false
	return r.unfinished(i,
		errors.New("the run was interrupted while the command was running, and no guard can detect whether it took effect; examine the host, then run fettle apply, which runs the command again"))
}
