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

// undoRun undoes everything that the run did, last first, and ends it. What
// cannot be undone stays managed and is reported.
func (r *run) undoRun() (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), undoTime)
	defer cancel()
	r.ctx = ctx
	if err := r.log(journal.Record{Kind: journal.Undoing}); err != nil {
		return r.result(), err
	}
	r.m.Back = true
	if err := r.undoFailed(); err != nil { // it was the last to be done
		return r.result(), err
	}
	for {
		op, indexes := r.m.Next()
		if op == OpEnd && len(indexes) == 0 {
			break
		}
		if err := r.undo(op, indexes); err != nil {
			return r.result(), fmt.Errorf("run %d is cut short while it is undone, the next fettle command goes on: %w", r.header.Run, err)
		}
	}
	r.leaveWhole()
	r.refire()
	r.m.Back = false
	return r.end(r.undoneOutcome())
}

// undoneOutcome is rolled back when nothing of the run is left.
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

// back undoes path changes as one batch. A path that is not as the run left it
// was changed by others since: it stays and is reported.
func (r *run) back(indexes []int) error {
	return r.tryBack(indexes, true)
}

// tryBack is back; with again it tries a change that fails once more, from
// where the failure left it.
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

// backOneByOne tries again so that one path in the way does not keep the others.
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

// backMove is the way back of one path; nil when it is back already.
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
		return nil, fmt.Errorf("its before-image is not at hand: %w", err)
	}
	return &move.Move{Change: i, Path: pm.path, From: now, To: pm.from, Temp: move.TempFor(pm.path, r.header.Run, i, true)}, nil
}

// touched tells whether nothing but the time of a path is ours.
func (pm pathMove) touched(now image.File) bool {
	return pm.inPlace && pm.to.MTime != 0 && now.MTime == pm.to.MTime && now.MTime != pm.from.MTime
}

// torn tells whether a path is on its way by our own doing: metadata that was
// being changed in place, or two things of which one is a directory that were
// being exchanged.
func (pm pathMove) torn(now image.File) bool {
	if pm.inPlace {
		return now.Type == pm.from.Type
	}
	if pm.backing && pm.from.Type == image.Directory && now.Type == image.Directory {
		return true // shown again before its metadata was durable
	}
	if pm.open && pm.from.Type == image.Absent && pm.to.Type == image.Directory && pm.to.Tree == "" {
		return now.Type == image.Directory // shown before its metadata was durable
	}
	swap := pm.from.Type != image.Absent && pm.to.Type != image.Absent &&
		(pm.from.Type == image.Directory) != (pm.to.Type == image.Directory)
	return now.Type == image.Absent && (swap || pm.from.Tree != "")
}

// whole looks at a path in the way in which it was captured.
func (r *run) whole(pm pathMove) (capture.Taken, error) {
	look := capture.Whole
	if pm.from.Tree != "" || pm.to.Tree != "" {
		look = func(h host.Reader, p string) (capture.Taken, error) { return capture.TakeTree(h, nil, p) }
	}
	now, err := r.wholeEither(pm, look)
	now.File = move.AsMade(now.File, pm.from, pm.to)
	return now, err
}

// moveBack undoes one change that is no path.
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
		r.note(fmt.Sprintf("%s has no undo: what it did stays", r.plan.Changes[i].Addr))
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

// asBefore tells whether a command that failed has left things as they were: it
// may not even have begun.
func (r *run) asBefore(v verb.Verb, i int) bool {
	now, err := v.Observe(r.ctx, r.env, r.m.Step(i))
	return err == nil && now.Exec.Known && now.Same(r.fx[i].from)
}

// undone looks whether undoing a command, under way when a crash came, has
// had its effect. Where nothing can tell, it is not run twice.
func (r *run) undone(v verb.Verb, i int) (over bool, err error) {
	now, err := v.Observe(r.ctx, r.env, r.m.Step(i))
	switch {
	case err == nil && now.Exec.Known && !now.Same(r.fx[i].from):
		return false, nil
	case err == nil && now.Exec.Known:
		r.taken(i, true)
	default:
		r.note(fmt.Sprintf("the undo of %s was running when it was cut short, and nothing tells whether it took effect; look at it", r.plan.Changes[i].Addr))
		r.taken(i, false)
	}
	return true, nil
}

// undoFailed undoes what a failed change did half.
func (r *run) undoFailed() error {
	for i := range r.plan.Changes {
		if r.m.Status(i) != Failed || !r.fx[i].changed {
			continue
		}
		switch {
		case isPath(r.plan.Changes[i].Addr):
			r.m.Set(i, Stuck) // that it could not be put back was the failure
		case r.m.opOf(i) == OpGroup:
			r.m.Set(i, Done) // it goes back with the others of its transaction
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

// undoTime bounds taking a run back, so that a hanging command cannot hold the
// lock for ever.
const undoTime = 30 * settleTime
