package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
)

// replay updates the machine and the effects with the records of the journal.
func (r *recovery) replay(recs []journal.Record) {
	done := map[int]bool{}
	for _, rec := range recs {
		if rec.Kind == journal.Done {
			done[rec.Batch] = true
		}
		r.batches.number = max(r.batches.number, rec.Batch)
	}
	for _, rec := range recs {
		r.replayOne(rec, done)
	}
}

func (r *recovery) replayOne(rec journal.Record, done map[int]bool) {
	i := rec.Change
	if rec.Kind == journal.Undoing {
		r.undoing = true
		return
	}
	if i < 0 || i >= len(r.effects) {
		return
	}
	if rec.Back {
		r.replayBack(rec, done)
		return
	}
	fx := &r.effects[i]
	switch rec.Kind {
	case journal.Move:
		r.replayMove(rec, done[rec.Batch])
	case journal.Intent:
		if rec.From != nil {
			fx.from = *rec.From
		}
		if rec.To != nil {
			fx.to = *rec.To
		}
		fx.fired, fx.began = rec.Addr.Kind() == addr.KindAct, rec.Addr.Kind() == addr.KindExec
	case journal.Result:
		r.replayResult(rec, fx)
	case journal.Pending:
		r.actions.replay(rec)
	case journal.Fired:
		if len(rec.Cause) == 1 && rec.Cause[0] == r.plan.Changes[i].Addr {
			r.actions.ran[listener{i, rec.Addr}] = rec.Error == "" // the action reacts to the failure
			return
		}
		if rec.Error == "" {
			delete(r.actions.pending, rec.Addr)
			fx.fired, fx.changed = true, true
			r.machine.Set(i, Done)
		}
	}
}

// replayMove applies the record of a path move. The record of a repeated move replaces the earlier
// one.
func (r *recovery) replayMove(rec journal.Record, done bool) {
	fx := &r.effects[rec.Change]
	fx.moves = slices.DeleteFunc(fx.moves, func(pm pathMove) bool { return pm.path == rec.Path })
	fx.moves = append(fx.moves, pathMove{path: rec.Path, from: *rec.From.File(), to: *rec.To.File(),
		inPlace: rec.InPlace, inode: rec.Inode, open: !done})
	r.reload = r.reload || isUnitFile(rec.Path)
	if !isPath(rec.Addr) {
		return // a home directory; its account has records of its own
	}
	if !ownImage(rec.Addr) {
		fx.from, fx.to = *rec.From, *rec.To
	}
	if done {
		fx.changed = true
		r.machine.Set(rec.Change, Done)
	}
}

// replayBack applies a record of the undo of the run or of one change.
func (r *recovery) replayBack(rec journal.Record, done map[int]bool) {
	fx := &r.effects[rec.Change]
	switch {
	case rec.Kind == journal.Move && isPath(rec.Addr):
		if !done[rec.Batch] {
			for k := range fx.moves {
				fx.moves[k].backing = true
			}
			return
		}
		r.replayed(rec.Change)
	case rec.Kind == journal.Result && isPath(rec.Addr):
		r.replayed(rec.Change)
	case rec.Kind == journal.Intent:
		fx.undoing = true
	case rec.Kind == journal.Result && !isPath(rec.Addr):
		fx.undoing = false
		if rec.Error == "" {
			r.machine.Set(rec.Change, Undone)
		}
	}
}

// replayed records that a path has its state from before its change.
func (r *recovery) replayed(i int) {
	r.forget(i)
	r.machine.Set(i, Do)
	if r.undoing {
		r.machine.Set(i, Undone)
	}
}

func (r *recovery) replayResult(rec journal.Record, fx *effect) {
	if rec.From != nil {
		fx.from = *rec.From
	}
	if rec.To != nil {
		fx.to = *rec.To
	}
	if rec.Error != "" {
		c := r.plan.Changes[rec.Change]
		r.machine.Set(rec.Change, Failed)
		r.failed = &Failure{Class: StepFailed, Addr: c.Addr, Step: r.machine.Step(rec.Change).String(), Source: c.Source,
			Error: rec.Error}
		r.failures[rec.Change] = r.failed
		return
	}
	fx.changed = true
	r.machine.Set(rec.Change, Done)
}
