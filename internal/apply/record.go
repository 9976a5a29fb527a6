package apply

import (
	"fmt"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// log makes records durable.
func (r *run) log(recs ...journal.Record) error {
	if len(recs) == 0 {
		return nil
	}
	if err := r.journal.Append(recs...); err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	if err := r.journal.Sync(); err != nil {
		return fmt.Errorf("cannot make the journal durable: %w", err)
	}
	return nil
}

func (r *run) start(i int) {
	r.current = i
	r.event("start", i, "")
}

func (r *run) event(what string, i int, text string) {
	c := r.plan.Changes[i]
	r.Show(Event{Kind: what, Index: i, Total: len(r.plan.Changes), Action: c.Shown(), Addr: c.Addr, Text: text})
}

func (r *run) note(text string) {
	text = r.masked(text)
	r.notes = append(r.notes, text)
	r.Show(Event{Kind: "note", Total: len(r.plan.Changes), Text: text})
}

// progress shows a message about the current operation.
func (r *run) progress(p host.Progress) {
	kind := "progress"
	if p.Waits {
		kind = "wait"
	}
	r.Show(Event{Kind: kind, Total: len(r.plan.Changes), Text: p.Text})
}

// changed records that change i took effect.
func (r *run) changed(i int) {
	r.effects[i].changed = true
	r.machine.Set(i, Done)
	r.event("done", i, "")
}

// known returns the image for a record, or nil if it is unknown.
func known(i image.Image) *image.Image {
	if !i.Known() {
		return nil
	}
	return &i
}

// ahead appends a record to the journal without a sync.
func (r *run) ahead(rec journal.Record) error {
	if err := r.journal.Append(rec); err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return nil
}

func (r *run) intent(i int, from, to image.Image) journal.Record {
	return journal.Record{Kind: journal.Intent, Change: i, Addr: r.plan.Changes[i].Addr,
		From: known(r.before(i, from)), To: known(to), Back: r.machine.Back}
}

// before returns the before-image of change i, from the first attempt.
func (r *run) before(i int, from image.Image) image.Image {
	if found := r.effects[i].found; found.Known() && !r.machine.Back {
		return found
	}
	return from
}

// isBack records that a path has its state from before its change. A later recovery must not examine
// the path again: the undo of an earlier change may put another object there.
func (r *run) isBack(i int, pm pathMove) error {
	if r.machine.Status(i) == Failed {
		return nil // the record contains this already
	}
	return r.ahead(journal.Record{Kind: journal.Result, Change: i, Addr: r.plan.Changes[i].Addr, Path: pm.path,
		Back: true})
}

func (r *run) taken(i int, ok bool) {
	if isUnitFile(r.plan.Changes[i].Addr.Path()) {
		r.reload = true
	}
	if ok {
		r.machine.Set(i, Undone)
		r.event("undo", i, "")
		return
	}
	r.machine.Set(i, Stuck)
}
