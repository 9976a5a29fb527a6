package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/act"
	"fettle.dev/fettle/internal/verb/verbs"
)

// undoRun undoes all changes of the run, in reverse order, and ends the run. Changes that cannot be
// undone stay managed and are reported.
func (r *run) undoRun() (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), undoTime)
	defer cancel()
	r.ctx = ctx
	if err := r.log(journal.Record{Kind: journal.Undoing}); err != nil {
		return r.result(), err
	}
	r.m.Back = true
	if err := r.undoFailed(); err != nil { // the failed change was the last one
		return r.result(), err
	}
	for {
		op, indexes := r.m.Next()
		if op == OpEnd && len(indexes) == 0 {
			break
		}
		if err := r.undo(op, indexes); err != nil {
			return r.result(), fmt.Errorf("run %d is interrupted while it is undone; the next fettle command continues: %w", r.header.Run, err)
		}
	}
	r.leaveWhole()
	r.refire()
	r.m.Back = false
	return r.end(r.undoneOutcome())
}

// undoneOutcome is RolledBack if all changes of the run are undone.
func (r *run) undoneOutcome() journal.Outcome {
	for i := range r.plan.Changes {
		switch {
		case r.m.Status(i) == Stuck && r.halted:
			return journal.Interrupted
		case r.m.Status(i) == Stuck:
			return journal.Failed
		}
	}
	return journal.RolledBack
}

func (r *run) undo(op Op, indexes []int) error {
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
		r.m.Set(i, Undone)
	}
	return nil
}

// back undoes path changes as one batch. If a path differs from the state that the run left, another
// process has changed it: it stays and is reported.
func (r *run) back(indexes []int) error {
	return r.tryBack(indexes, true)
}

// tryBack undoes path changes. With again, it repeats a failed change once, from the state that the
// failure left.
func (r *run) tryBack(indexes []int, again bool) error {
	b := &move.Batch{}
	var stuck []int
	for _, i := range indexes {
		for _, pm := range slices.Backward(r.fx[i].moves) {
			m, err := r.backMove(i, pm)
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
	if _, err := r.commit(b, true); cut(err) {
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
func (r *run) backOneByOne(indexes []int) error {
	for _, i := range indexes {
		if err := r.back([]int{i}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) taken(i int, ok bool) {
	if isUnitFile(r.plan.Changes[i].Addr.Path()) {
		r.reload = true
	}
	if ok {
		r.m.Set(i, Undone)
		r.event("undo", i, "")
		return
	}
	r.m.Set(i, Stuck)
}

// backMove returns the move that undoes a path move, or nil if it is already undone.
func (r *run) backMove(i int, pm pathMove) (*move.Move, error) {
	now, err := r.whole(pm)
	if err != nil {
		return nil, err
	}
	switch {
	case now.File.Same(pm.from) && !pm.touched(now.File):
		return nil, nil
	case !now.File.Same(pm.to) && !pm.torn(now.File):
		return nil, errors.New("others have changed it since; it stays as it is")
	}
	if err := r.content(pm.from.Digest); err != nil {
		return nil, fmt.Errorf("its recorded earlier state cannot be read: %w", err)
	}
	return &move.Move{Change: i, Path: pm.path, From: now, To: pm.from, Temp: move.TempFor(pm.path, r.header.Run, i, true),
		Inode: pm.inode, Name: otherName(r, pm)}, nil
}

// touched reports whether fettle changed only the modification time of a path.
func (pm pathMove) touched(now image.File) bool {
	return pm.inPlace && pm.to.MTime != 0 && now.MTime == pm.to.MTime && now.MTime != pm.from.MTime
}

// torn reports whether a path is partly changed by fettle itself: its metadata was being changed in
// place, or a directory was being exchanged with another object.
func (pm pathMove) torn(now image.File) bool {
	if pm.inPlace {
		return now.Type == pm.from.Type
	}
	if pm.backing && pm.from.Type == image.Directory && now.Type == image.Directory {
		return true // visible again before its metadata was durable
	}
	if pm.open && pm.from.Type == image.Absent && pm.to.Type == image.Directory && pm.to.Tree == "" {
		return now.Type == image.Directory // visible before its metadata was durable
	}
	swap := pm.from.Type != image.Absent && pm.to.Type != image.Absent &&
		(pm.from.Type == image.Directory) != (pm.to.Type == image.Directory)
	return now.Type == image.Absent && (swap || pm.from.Tree != "")
}

// whole captures a path in the same way as the first capture.
func (r *run) whole(pm pathMove) (capture.Taken, error) {
	look := capture.Whole
	if pm.from.Tree != "" || pm.to.Tree != "" {
		look = func(h host.Reader, p string) (capture.Taken, error) { return capture.TakeTree(h, nil, p) }
	}
	now, err := r.wholeEither(pm, look)
	now.File = move.AsMade(now.File, pm.from, pm.to)
	return now, err
}

// moveBack undoes one change that is not a path.
func (r *run) moveBack(i int) error {
	s := r.m.Step(i)
	v, ok := verbs.For(s.Verb)
	mover, is := v.(verb.Mover)
	if !ok || !is || !r.fx[i].changed {
		r.m.Set(i, Undone)
		return nil
	}
	r.at = i
	r.reloadFor(s)
	from, to := r.fx[i].to, r.fx[i].from
	if from.Exec != nil && s.Get("undo") == "" {
		r.note(fmt.Sprintf("%s has no undo, so its effects stay", r.plan.Changes[i].Addr))
		r.m.Set(i, Stuck)
		return nil
	}
	if r.fx[i].undoing && s.Verb == step.Exec {
		if over, err := r.undone(v, i); over || err != nil {
			return err
		}
	}
	if r.m.Status(i) == Failed && s.Verb == step.Exec && r.asBefore(v, i) {
		r.taken(i, true)
		return nil
	}
	if _, err := r.homeWith(i, from, to); cut(err) {
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
	for _, pm := range r.fx[i].moves {
		if herr := r.home(i, pm); cut(herr) {
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
func (r *run) asBefore(v verb.Verb, i int) bool {
	now, err := v.Observe(r.ctx, r.env, r.m.Step(i))
	return err == nil && now.Exec.Known && now.Same(r.fx[i].from)
}

// undone determines whether the interrupted undo of a command took effect. If this cannot be detected,
// the undo is not run twice.
func (r *run) undone(v verb.Verb, i int) (over bool, err error) {
	now, err := v.Observe(r.ctx, r.env, r.m.Step(i))
	switch {
	case err == nil && now.Exec.Known && !now.Same(r.fx[i].from):
		return false, nil
	case err == nil && now.Exec.Known:
		r.taken(i, true)
	default:
		r.note(fmt.Sprintf("the run was interrupted while the undo of %s was running, and fettle cannot detect whether it took effect; examine the host", r.plan.Changes[i].Addr))
		r.taken(i, false)
	}
	return true, nil
}

// undoFailed undoes the partial effect of a failed change.
func (r *run) undoFailed() error {
	for i := range r.plan.Changes {
		if r.m.Status(i) != Failed || !r.fx[i].changed {
			continue
		}
		switch {
		case isPath(r.plan.Changes[i].Addr):
			r.m.Set(i, Stuck) // the failure was that it could not be restored
		case r.m.opOf(i) == OpGroup:
			r.m.Set(i, Done) // it is undone with the other packages of its transaction
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
func (r *run) refire() {
	if r.reload {
		r.daemonReload()
	}
	r.pending = map[addr.Addr]journal.PendingAct{}
	for _, p := range r.base.Pending {
		r.pending[p.Addr] = p
	}
	for i, c := range r.plan.Changes {
		if c.Addr.Kind() != addr.KindAct || !r.fx[i].fired && r.m.Status(i) != Failed {
			continue
		}
		if err := act.Run(r.ctx, r.Host, r.m.Step(i), true); err != nil {
			r.note(fmt.Sprintf("%s failed after the run was undone, and stays pending: %v", c.Addr, err))
			r.pending[c.Addr] = journal.PendingAct{Addr: c.Addr, Step: c.Step, Cause: union(r.basePending(c.Addr).Cause, c.Cause), Run: r.header.Run}
		}
		r.m.Set(i, Undone)
	}
}

// union is a list with the additional addresses of another list.
func union(a, b []addr.Addr) []addr.Addr {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// undoTime limits the undo of a run, so that a hanging command cannot hold the lock permanently.
const undoTime = 30 * settleTime
