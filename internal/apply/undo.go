package apply

import (
	"context"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/act"
	"fettle.dev/fettle/internal/verb/verbs"
)

// undoRun undoes all changes of the run, in reverse order. Changes that cannot be undone stay
// managed and are reported.
func (r *backward) undoRun() (journal.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), undoTime)
	defer cancel()
	r.ctx = ctx
	if err := r.log(journal.Record{Kind: journal.Undoing}); err != nil {
		return "", err
	}
	r.machine.Back = true
	if err := r.undoFailed(); err != nil { // the failed change was the last one
		return "", err
	}
	for {
		op, indexes := r.machine.Next()
		if op == OpEnd && len(indexes) == 0 {
			break
		}
		if err := r.undo(op, indexes); err != nil {
			return "", fmt.Errorf("run %d is interrupted while it is undone; the next fettle command continues: %w",
				r.header.Run, err)
		}
	}
	r.packages.leaveWhole()
	r.refire()
	r.machine.Back = false
	return r.undoneOutcome(), nil
}

// undoneOutcome is RolledBack if all changes of the run are undone.
func (r *backward) undoneOutcome() journal.Outcome {
	for i := range r.plan.Changes {
		switch {
		case r.machine.Status(i) == Stuck && r.halted:
			return journal.Interrupted
		case r.machine.Status(i) == Stuck:
			return journal.Failed
		}
	}
	return journal.RolledBack
}

func (r *backward) undo(op Op, indexes []int) error {
	switch op {
	case OpPaths:
		return r.back(indexes)
	case OpGroup:
		return r.groupBack(indexes)
	case OpMove:
		for _, i := range indexes {
			if err := r.moveBack(i); err != nil {
				return err
			}
		}
		return nil
	}
	for _, i := range indexes {
		r.machine.Set(i, Undone)
	}
	return nil
}

// back undoes path changes as one batch. If a path differs from the state that the run left, another
// process has changed it: it stays and is reported.
func (r *backward) back(indexes []int) error {
	return r.tryBack(indexes, true)
}

// tryBack undoes path changes. With again, it repeats a failed change once, from the state that the
// failure left.
func (r *backward) tryBack(indexes []int, again bool) error {
	b := &move.Batch{}
	var stuck []int
	for _, i := range indexes {
		for _, pm := range slices.Backward(r.effects[i].moves) {
			m, err := r.batches.backMove(i, pm)
			if err != nil {
				stuck = append(stuck, i)
				r.note(fmt.Sprintf("cannot undo %s: %v", pm.path, err))
				continue
			}
			if m != nil {
				b.Moves = append(b.Moves, m)
			} else if err := r.isBack(i, pm); err != nil {
				return cutShort(err)
			}
		}
	}
	if _, err := r.batches.commit(b, true); cut(err) {
		return err
	} else if err != nil {
		if len(indexes) > 1 {
			return r.backOneByOne(indexes)
		}
		if again {
			return r.tryBack(indexes, false)
		}
		r.note(fmt.Sprintf("cannot undo %s: %v", r.plan.Changes[indexes[0]].Addr, err))
		stuck = append(stuck, indexes[0])
	}
	for _, i := range indexes {
		r.taken(i, !slices.Contains(stuck, i))
	}
	return nil
}

// backOneByOne repeats the undo for each path by itself, so that a blocked path does not block other
// paths.
func (r *backward) backOneByOne(indexes []int) error {
	for _, i := range indexes {
		if err := r.back([]int{i}); err != nil {
			return err
		}
	}
	return nil
}

// moveBack undoes one change that is not a path.
func (r *backward) moveBack(i int) error {
	s := r.machine.Step(i)
	v, ok := verbs.For(s.Verb)
	mover, is := v.(verb.Mover)
	if !ok || !is || !r.effects[i].changed {
		r.machine.Set(i, Undone)
		return nil
	}
	r.current = i
	r.reloadFor(s)
	from, to := r.effects[i].to, r.effects[i].from
	if from.Exec() != nil && s.Get("undo") == "" {
		r.note(fmt.Sprintf("%s has no undo, so its effects stay", r.plan.Changes[i].Addr))
		r.machine.Set(i, Stuck)
		return nil
	}
	if r.effects[i].undoing && s.Verb == step.Exec {
		if over, err := r.undone(v, i); over || err != nil {
			return err
		}
	}
	if r.machine.Status(i) == Failed && s.Verb == step.Exec && r.asBefore(v, i) {
		r.taken(i, true)
		return nil
	}
	if _, err := r.homes.homeWith(i, from, to); cut(err) {
		return err
	} else if err != nil {
		r.note(err.Error())
	}
	if err := r.log(r.intent(i, from, to)); err != nil {
		return err
	}
	err := mover.Move(r.ctx, r.env, s, from, to)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Back: true}
	if err != nil {
		rec.Error = r.masked(err.Error())
		r.note(fmt.Sprintf("cannot undo %s: %v", r.plan.Changes[i].Addr, err))
	}
	if isAccount(r.plan.Changes[i].Addr) {
		r.Names.Forget()
	}
	for _, pm := range r.effects[i].moves {
		if herr := r.homes.home(i, pm); cut(herr) {
			return herr
		} else if herr != nil {
			r.note(fmt.Sprintf("cannot undo %s: %v", pm.path, herr))
		}
	}
	if serr := r.settleMachine(); serr != nil {
		return cutShort(serr)
	}
	r.taken(i, err == nil)
	return r.log(rec)
}

// asBefore reports whether a failed command has no effect. It may not even have started.
func (r *backward) asBefore(v verb.Verb, i int) bool {
	now, err := v.Observe(r.ctx, r.env, r.machine.Step(i))
	return err == nil && now.Exec().Known && now.Same(r.effects[i].from)
}

// undone determines whether the interrupted undo of a command took effect. If this cannot be detected,
// the undo is not run twice.
func (r *backward) undone(v verb.Verb, i int) (over bool, err error) {
	now, err := v.Observe(r.ctx, r.env, r.machine.Step(i))
	switch {
	case err == nil && now.Exec().Known && !now.Same(r.effects[i].from):
		return false, nil
	case err == nil && now.Exec().Known:
		r.taken(i, true)
	default:
		r.note(fmt.Sprintf("the run was interrupted while the undo of %s was running, and fettle cannot detect whether it took effect; examine the host", r.plan.Changes[i].Addr))
		r.taken(i, false)
	}
	return true, nil
}

// undoFailed undoes the partial effect of a failed change.
func (r *backward) undoFailed() error {
	for i := range r.plan.Changes {
		if r.machine.Status(i) != Failed || !r.effects[i].changed {
			continue
		}
		switch {
		case isPath(r.plan.Changes[i].Addr):
			r.machine.Set(i, Stuck) // the failure was that it could not be restored
		case r.machine.opOf(i) == OpGroup:
			r.machine.Set(i, Done) // it is undone with the other packages of its transaction
		default:
			if err := r.moveBack(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// refire runs the actions again that ran: the programs that read the new configuration
// must read the old configuration. An action that fails now stays pending.
func (r *backward) refire() {
	if r.reload {
		r.daemonReload()
	}
	r.actions.reset()
	for i, c := range r.plan.Changes {
		if c.Addr.Kind() != addr.KindAct || !r.effects[i].fired && r.machine.Status(i) != Failed {
			continue
		}
		if err := act.Run(r.ctx, r.Host, r.machine.Step(i), true); err != nil {
			r.note(fmt.Sprintf("%s failed after the run was undone, and stays pending: %v", c.Addr, err))
			r.actions.renewAfterUndo(i)
		}
		r.machine.Set(i, Undone)
	}
}

// undoTime limits the undo of a run, so that a hanging command cannot hold the lock permanently.
const undoTime = 30 * settleTime
