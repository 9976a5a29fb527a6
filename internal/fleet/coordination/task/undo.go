package task

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// restore makes all undecided instances unknown, because attempts can be missing.
func (d *decision) restore() {
	for i := range d.Instances {
		is := &d.Instances[i]
		if is.Phase == Waiting && (d.Open == nil || d.Open.Digest != is.Digest) {
			d.lost(is, nil, missing)
		}
	}
}

// settleUndo decides whether a task that was removed must be undone. Another decision follows only until the undo
// begins: a late result can show that nothing was done. lost means that an undo can be missing.
func (d *decision) settleUndo(lost bool) {
	if !d.Undeclared || d.Undo == nil || d.Open != nil || d.undoBegan() {
		return
	}
	needed, unknown := d.undoNeeded()
	switch {
	case needed && d.Undoing, !needed && unknown == "" && !d.Undoing:
	case needed:
		d.Undoing = true
		i := d.instance(d.Undo.Digest)
		if d.change(UndoDue, nil, ""); lost {
			d.lost(i, nil, missing)
		}
	default:
		d.Undoing = false
		d.remove(d.Undo.Digest)
		if i := d.find(unknown); i >= 0 {
			d.Digest = unknown // a user decides about this content
			if is := &d.Instances[i]; !is.Ask {
				d.ask(is, nil, is.Text)
			}
		}
	}
}

// undoBegan reports whether the undo has a result, or may have one.
func (d *decision) undoBegan() bool {
	i := d.find(d.Undo.Digest)
	if !d.Undoing || i < 0 {
		return false
	}
	return d.Instances[i].mayHaveBegun()
}

// mayHaveBegun reports whether an attempt may have begun its command.
func (i Instance) mayHaveBegun() bool { return i.Phase != Waiting || i.Tries+i.Lost > 0 || i.Began }

// undoNeeded reports whether a command of the task began, unless a user decided that it had no effect. Otherwise,
// unknown is a content whose result is unknown, or "".
func (d *decision) undoNeeded() (needed bool, unknown string) {
	for _, i := range d.Instances {
		switch {
		case i.Digest == d.Undo.Digest || i.Phase == Failed && i.By != "":
		case i.Phase == Unknown:
			unknown = i.Digest
		case i.Began || d.attempted(i.Digest):
			needed = true
		}
	}
	return needed, unknown
}

// undone forgets the results of all contents: if the task is declared again, it is done again.
func (d *decision) undone() {
	d.Undone = d.Fence
	d.Instances = slices.DeleteFunc(d.Instances, func(i Instance) bool { return i.Digest != d.Undo.Digest })
}

// cancelUndo ends an undo because the task is declared again. An undo that runs is awaited, see undoEnded.
func (d *decision) cancelUndo() {
	if !d.Undoing {
		return
	}
	i := d.Instance()
	began := d.undoBegan()
	d.Undoing = false
	if d.Open != nil {
		return
	}
	d.remove(i.Digest)
	switch {
	case i.Phase == Done:
	case began:
		d.damaged("the task was removed and its undo is not done: " + i.Text)
	default:
		d.change(Kept, nil, "")
	}
}

// undoEnded applies the result of an undo that ran when the task was declared again.
func (d *decision) undoEnded(a *Attempt) {
	earlier := false // an attempt of the undo before this one may have begun
	if i := d.find(a.Digest); i >= 0 {
		earlier = d.Instances[i].mayHaveBegun()
	}
	d.remove(a.Digest)
	switch a.Outcome {
	case fleet.TaskDone, fleet.TaskVerified:
		d.change(Succeeded, a, a.Text)
		d.Undone = d.Fence
		d.Instances = nil
		d.instance(d.Digest)
	case fleet.TaskRefused:
		if d.change(Refused, a, a.Text); earlier {
			d.damaged("the task was removed, and it is unknown whether it was undone")
		}
	case fleet.TaskNotDone:
		d.change(IsUnknown, a, a.Text)
		d.damaged("the task was removed, and it is unknown whether it was undone")
	case fleet.TaskFailed:
		d.change(Fails, a, a.Text)
		d.damaged("the task was removed, and its undo failed: " + a.Text)
	default:
		d.change(IsUnknown, a, a.Text)
		d.damaged("the task was removed, and it is unknown whether it was undone: " + a.Text)
	}
}

// damaged makes all contents unknown that may have been undone in part.
func (d *decision) damaged(why string) {
	for n := range d.Instances {
		i := &d.Instances[n]
		switch {
		case i.Phase != Done && !i.Began && !d.attempted(i.Digest):
		case i.Digest == d.Digest:
			d.lost(i, nil, clip(why))
		default:
			d.set(i, Unknown, clip(why))
			i.Ask = true
		}
	}
}
