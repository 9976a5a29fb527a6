package task

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// Decide returns the state after an event, and the answer. now is in ms since 1970.
func Decide(s State, e Event, now int64) (State, Answer) {
	d := decision{State: s, now: now}
	d.Instances, d.Attempts = slices.Clone(s.Instances), slices.Clone(s.Attempts)
	if s.Open != nil {
		open := *s.Open
		d.Open = &open
	}
	switch e.Kind {
	case Define:
		d.define(e)
	case Undefine:
		d.undefine(e.Restored)
	case Begin:
		d.begin(e)
	case Hold:
		d.hold(clip(e.Text))
	case Accept:
		d.accept(e)
	case End:
		d.end(e)
	case Tick:
		if d.Open != nil && now >= d.Open.Deadline {
			d.finish("", "the "+d.Open.Executor()+" sent no result in time")
		}
	case Retry, Resolve:
		d.user(e)
	}
	d.settleUndo(e.Kind == Undefine && e.Restored > s.Restored)
	return d.State, d.answer
}

func (d *decision) define(e Event) {
	want, created, i := e.Definition, d.Instances == nil, d.find(e.Definition.Digest)
	changed := d.Definition != want || d.Undeclared || d.Scope != e.Scope || d.Task != e.Task
	d.Scope, d.Task, d.Definition, d.Undeclared, d.Removed = e.Scope, e.Task, want, false, 0
	if created && !e.Missing {
		d.Restored = e.Restored
	}
	is := *d.instance(want.Digest)
	if changed {
		d.Instances = append(slices.DeleteFunc(d.Instances, func(i Instance) bool { return i.Digest == want.Digest }), is)
		text := ""
		if i >= 0 {
			text = string(is.Phase)
		}
		d.change(Defined, nil, text)
		if is.Phase == Unknown {
			d.decideUnknown(d.instance(want.Digest), nil, is.Text)
		}
	}
	d.cancelUndo()
	d.Undo, d.At = e.Undo, e.At
	switch {
	case e.Restored > d.Restored:
		d.restored(e.Restored)
	case i < 0 && e.Missing && e.Restored > 0:
		d.lost(d.instance(want.Digest), nil, missing)
	}
}

// undefine notes that the task was removed.
func (d *decision) undefine(restored int64) {
	if !d.Undeclared {
		d.Undeclared, d.Removed = true, d.now
		d.change(Removed, nil, "")
	}
	if restored > d.Restored && d.Undo != nil {
		d.restored(restored)
	}
}

// restored notes a restoration or a loss of data, after which attempts can be missing.
func (d *decision) restored(at int64) {
	d.Restored = at
	if d.restore(); d.Open != nil {
		d.finish("", missing)
	}
}

func (d *decision) begin(e Event) {
	due, _, verifyOnly := d.Due(d.now, true)
	is := d.Current()
	switch {
	case d.Undeclared && !d.Undoing || is.Digest == "":
		d.answer.Refused = NoTask
	case d.Open != nil:
		d.answer.Refused = IsOpen
	case !due:
		d.answer.Refused = NotDue
	}
	if d.answer.Refused != "" {
		return
	}
	d.Fence = max(d.Fence+1, uint64(max(d.now, 0)))
	expires := d.now + e.Limit.Milliseconds()
	d.Open = &Attempt{Fence: d.Fence, Digest: is.Digest, Target: e.Target, Name: e.Name, Hub: e.Hub,
		VerifyOnly: verifyOnly, Undo: d.Undoing, Begun: d.now, Expires: expires,
		Deadline: expires + (is.Timeout + Reserve).Milliseconds()}
	a := *d.Open
	d.answer.Attempt = &a
	d.change(Begun, d.Open, "")
}

// hold notes why a task waits.
func (d *decision) hold(text string) {
	if due, _, _ := d.Due(d.now, true); !due {
		d.answer.Refused = NotDue
		return
	}
	if i := d.instance(d.Current().Digest); i.Phase == Waiting && i.Text != text {
		i.Text, i.By = text, ""
		d.change(Held, nil, text)
	}
}

func (d *decision) accept(e Event) {
	switch a := d.Open; {
	case a == nil || a.Fence != e.Fence:
		d.answer.Refused = Stale
	case !a.Accepted:
		a.Accepted = true
		d.change(Accepted, a, "")
	}
}

// end applies the result of an attempt.
func (d *decision) end(e Event) {
	if d.Open != nil && d.Open.Fence == e.Fence {
		d.finish(e.Outcome, e.Text)
		return
	}
	i := slices.IndexFunc(d.Attempts, func(a Attempt) bool { return a.Fence == e.Fence })
	if i < 0 {
		d.answer.Refused = Stale
		return
	}
	if d.Attempts[i].Outcome == "" && e.Outcome != "" {
		d.late(&d.Attempts[i], e)
	}
}

// finish ends the open attempt.
func (d *decision) finish(outcome fleet.TaskOutcome, text string) {
	a := *d.Open
	d.Open = nil
	a.Ended, a.Outcome, a.Text = d.now, outcome, clip(text)
	d.Attempts = append(d.Attempts, a)
	if len(d.Attempts) > MaxAttempts { // a late result needs its attempt, so refused ones are removed first
		refused := func(a Attempt) bool { return a.Outcome == fleet.TaskRefused }
		i := max(0, slices.IndexFunc(d.Attempts, refused))
		d.Attempts = slices.Delete(d.Attempts, i, i+1)
	}
	if a.Undo && !d.Undoing {
		d.undoEnded(&a)
		return
	}
	i := d.instance(a.Digest)
	if i.Phase == Done { // a late success of an earlier attempt
		d.change(Succeeded, &a, "an earlier attempt succeeded")
		return
	}
	d.apply(i, &a)
}

// late applies the result of an attempt that was lost. The instance changes only if it is still undecided, or if the
// attempt succeeded.
func (d *decision) late(a *Attempt, e Event) {
	a.Outcome, a.Text, a.Ended = e.Outcome, clip(e.Text), d.now
	d.change(Late, a, a.Text)
	if a.Fence <= d.Undone || a.Undo && (!d.Undoing || d.newestContent() > a.Fence) {
		return // its effect was undone, or the task was declared again after it
	}
	i := d.instance(a.Digest)
	success := a.Outcome == fleet.TaskDone || a.Outcome == fleet.TaskVerified
	newest := d.newest(a.Digest)
	switch {
	case success && i.Phase != Done:
		d.apply(i, a)
	case i.Phase == Unknown && newest == a.Fence && d.Open == nil:
		d.apply(i, a)
	}
}

// newest returns the fence of the newest attempt of a content that was not only a verification.
func (d *decision) newest(digest string) (fence uint64) {
	for _, a := range d.Attempts {
		if a.Digest == digest && !a.VerifyOnly {
			fence = max(fence, a.Fence)
		}
	}
	return fence
}

// newestContent returns the fence of the newest attempt that was not of an undo.
func (d *decision) newestContent() (fence uint64) {
	for _, a := range d.Attempts {
		if !a.Undo && !a.VerifyOnly {
			fence = max(fence, a.Fence)
		}
	}
	return fence
}

// apply applies the outcome of an attempt to its instance.
func (d *decision) apply(i *Instance, a *Attempt) {
	tries, refusals := i.Tries, i.Refusals
	i.Refusals, i.NotBefore = 0, 0
	switch a.Outcome {
	case fleet.TaskDone, fleet.TaskVerified:
		i.Tries, i.Lost, i.Began = 0, 0, i.Began || a.Outcome == fleet.TaskDone || d.attempted(i.Digest)
		d.set(i, Done, a.Text)
		d.change(Succeeded, a, a.Text)
		if a.Undo {
			d.undone()
		}
	case fleet.TaskRefused:
		i.Refusals = refusals + 1
		i.NotBefore = d.now + min(FirstPause<<min(refusals, 10), LastPause).Milliseconds()
		if !a.VerifyOnly && i.Phase != Waiting {
			d.set(i, Waiting, "")
		}
		i.Text = a.Text
		d.change(Refused, a, a.Text)
	case fleet.TaskNotDone:
		d.ask(i, a, "the condition of the task does not hold: "+a.Text)
	case fleet.TaskFailed:
		switch {
		case a.VerifyOnly:
			d.ask(i, a, "the condition of the task cannot be tested: "+a.Text)
		case tries < d.retries(a.Digest):
			i.Began = true
			i.Tries, i.Lost, i.NotBefore = tries+1, 0, d.now+d.RetryAfter.Milliseconds()
			d.set(i, Waiting, a.Text)
			d.change(FailsOnce, a, a.Text)
		default:
			i.Began = true
			i.Tries, i.Lost = tries+1, 0
			d.set(i, Failed, a.Text)
			d.change(Fails, a, a.Text)
		}
	default:
		d.lost(i, a, a.Text)
	}
}

// user applies a decision of a user.
func (d *decision) user(e Event) {
	digest, asked := d.Current().Digest, d.Unfinished() && e.Kind == Resolve
	if digest == "" || d.Undeclared && !d.Undoing && !asked {
		d.answer.Refused = NoTask
		return
	}
	i := d.instance(digest)
	switch {
	case d.Open != nil:
		d.answer.Refused = IsOpen
	case i.Phase == Waiting && e.Kind == Retry:
		if i.NotBefore > d.now { // do not wait for the pause
			i.NotBefore, i.Refusals = 0, 0
			d.change(Retried, nil, e.Text)
		}
	case i.Phase == Waiting && !d.Undoing || e.Kind == Resolve && i.Phase == Done:
		d.answer.Refused = NoResult
	case e.Kind == Retry:
		*i = Instance{Digest: i.Digest, Phase: Waiting, Since: d.now, Text: e.Text, By: e.By, Began: i.Began}
		d.change(Retried, nil, e.Text)
	default:
		phase := Failed
		if e.Done {
			phase = Done
		}
		*i = Instance{Digest: i.Digest, Phase: phase, Since: d.now, Text: e.Text, By: e.By, Began: e.Done}
		d.change(Resolved, nil, e.Text)
		if d.Undoing && e.Done {
			d.undone()
		}
	}
}
