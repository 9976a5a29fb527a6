package apply

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
)

// commit makes all moves of a batch durable, in the order intent, rename, result. On an error, failed
// is the index of the change that failed, and the moves that were already visible are recorded. If the
// error is a cutError, only recovery can determine the state of the paths.
func (r *batches) commit(b *move.Batch, back bool) (failed int, err error) {
	if len(b.Moves) == 0 {
		return 0, nil
	}
	b.FS, b.Store = r.Host, r.Store
	b.Fold()
	r.number++
	first := b.Moves[0].Change
	if err := r.writeAhead(b, back); err != nil {
		return first, cutShort(err)
	}
	if err := r.stage(b); err != nil {
		r.sweep(b.Parents()...)
		if derr := b.Drop(); derr != nil {
			return first, cutShort(errors.Join(err, derr))
		}
		return failedMove(b, err), err
	}
	if err := r.log(journal.Record{Kind: journal.Prepared, Batch: r.number, Back: back}); err != nil {
		return first, cutShort(errors.Join(err, b.Drop()))
	}
	return r.reveal(b, back)
}

// reveal renames the staged files of a batch to their paths. If the renames cannot be made durable,
// the state after a crash is unknown, so the run ends with a cutError.
func (r *batches) reveal(b *move.Batch, back bool) (failed int, err error) {
	first := b.Moves[0].Change
	showErr := b.Show()
	if err := b.Settle(); err != nil {
		return first, cutShort(errors.Join(showErr, err))
	}
	if err := r.outcome(b, back, showErr); err != nil {
		return first, cutShort(err)
	}
	if showErr != nil {
		r.sweep(b.Parents()...)
		return failedMove(b, showErr), r.hidden(b, back, showErr)
	}
	for _, temp := range b.Aside() {
		r.sweep(path.Dir(temp))
		if err := move.RemoveTemp(r.Host, temp); err != nil {
			r.leftTemps = append(r.leftTemps, temp)
		}
	}
	return 0, nil
}

// hidden cleans up after a batch in which one rename failed. It removes the temporary files and undoes
// a move that consists of several operations and is partly done. With back, the caller tries again
// instead.
func (r *batches) hidden(b *move.Batch, back bool, showErr error) error {
	if err := b.Drop(); err != nil {
		return cutShort(errors.Join(showErr, err))
	}
	if back {
		return showErr
	}
	for _, m := range b.Moves {
		if m.Shown() || m.Atomic() || m.Change != failedMove(b, showErr) {
			continue
		}
		pm := pathMove{path: m.Path, from: m.From.File, to: m.To, inPlace: m.InPlace()}
		way, err := r.backMove(m.Change, pm)
		if err != nil || way == nil {
			return showErr // another process changed it, or nothing happened yet
		}
		if _, err := r.commit(&move.Batch{Moves: []*move.Move{way}}, true); err != nil {
			return cutShort(errors.Join(showErr, err))
		}
	}
	return showErr
}

// failedMove returns the change that caused an error of a batch: the first move that is not visible
// yet.
func failedMove(b *move.Batch, err error) int {
	var me *move.Error
	if errors.As(err, &me) {
		return me.Change
	}
	return b.Moves[0].Change
}

// writeAhead writes the intents of a batch to the journal. It writes them one by one, because a large
// batch has many records.
func (r *batches) writeAhead(b *move.Batch, back bool) error {
	for _, m := range b.Moves {
		a := r.plan.Changes[m.Change].Addr
		if !back && ownImage(a) {
			if err := r.ahead(r.intent(m.Change, r.effects[m.Change].from, r.effects[m.Change].to)); err != nil {
				return err
			}
		}
		from, to := image.Of(&m.From.File), image.Of(&m.To)
		rec := journal.Record{Kind: journal.Move, Change: m.Change, Addr: a, Batch: r.number,
			Path: m.Path, Temp: m.Temp, InPlace: m.InPlace(), Inode: sharedInode(m), From: &from, To: &to, Back: back}
		if err := r.ahead(rec); err != nil {
			return err
		}
	}
	if err := r.journal.Sync(); err != nil {
		return fmt.Errorf("cannot make the journal durable: %w", err)
	}
	return nil
}

func (r *batches) stage(b *move.Batch) error {
	if err := b.Stage(); err != nil {
		return err
	}
	if err := r.Store.SyncObjects(); err != nil {
		return err
	}
	return b.Barrier()
}

// outcome records the moves that became visible, and the actions that they notify.
func (r *batches) outcome(b *move.Batch, back bool, showErr error) error {
	var recs []journal.Record
	for _, m := range b.Moves {
		if !m.Shown() {
			continue
		}
		r.shown(m, back)
		for _, name := range m.Kept {
			recs = append(recs, r.keptNote(m.Path, name))
		}
		if !isPath(r.plan.Changes[m.Change].Addr) {
			continue // a home directory, which is recorded with its account
		}
		if !back {
			recs = append(recs, r.actions.notify(m.Change)...)
		}
		if showErr != nil {
			recs = append(recs, journal.Record{Kind: journal.Result, Change: m.Change, Path: m.Path, Batch: r.number,
				Back: back})
		}
	}
	if showErr == nil {
		recs = append(recs, journal.Record{Kind: journal.Done, Batch: r.number, Back: back})
	}
	return r.log(recs...)
}

func (r *batches) keptNote(dir, name string) journal.Record {
	text := fmt.Sprintf("%s stays: it contains %q, which fettle does not manage", dir, name)
	r.note(text)
	return journal.Record{Kind: journal.Note, Text: text, Path: dir}
}

func (r *batches) shown(m *move.Move, back bool) {
	i := m.Change
	if back {
		return
	}
	r.effects[i].moves = append(r.effects[i].moves, pathMove{path: m.Path, from: m.From.File, to: m.To,
		inPlace: m.InPlace(), inode: sharedInode(m)})
	if isUnitFile(m.Path) {
		r.reload = true
	}
	if isPath(r.plan.Changes[i].Addr) {
		r.changed(i)
	}
}

// sweep records directories in which temporary files were removed.
func (r *batches) sweep(dirs ...string) {
	for _, d := range dirs {
		r.swept[d] = true
	}
}

// sweepUp removes the remaining temporary files and makes their removal durable. After the end of the
// run, no later command searches for them.
func (r *batches) sweepUp() error {
	for _, temp := range r.leftTemps {
		if err := move.RemoveTemp(r.Host, temp); err != nil {
			r.note("could not remove a temporary file; remove it by hand: " + err.Error())
		}
	}
	r.leftTemps = nil
	if err := move.SyncDirs(r.Host, slices.Sorted(maps.Keys(r.swept))); err != nil {
		return err
	}
	clear(r.swept)
	return nil
}
