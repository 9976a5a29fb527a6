package task

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// decision is a state on its way to the next one.
type decision struct {
	State
	now    int64
	answer Answer
}

func (d *decision) change(k ChangeKind, a *Attempt, text string) {
	if a != nil {
		is := *a
		a = &is
	}
	d.answer.Changes = append(d.answer.Changes, Change{k, a, text})
}

// instance returns the instance of a content, which is created if it does not exist.
func (d *decision) instance(digest string) *Instance {
	i := d.find(digest)
	if i < 0 {
		d.Instances = append(d.Instances, Instance{Digest: digest, Phase: Waiting, Since: d.now})
		d.Instances = d.Instances[max(0, len(d.Instances)-MaxInstances):]
		i = len(d.Instances) - 1
	}
	return &d.Instances[i]
}

// remove removes the instance of a content.
func (d *decision) remove(digest string) {
	d.Instances = slices.DeleteFunc(d.Instances, func(i Instance) bool { return i.Digest == digest })
}

// set sets the phase of an instance.
func (d *decision) set(i *Instance, p Phase, text string) {
	i.Phase, i.Since, i.Text, i.By, i.Ask = p, d.now, text, "", false
}

// missing is the reason of instances that are unknown after a loss of data.
const missing = "the hubs lost data or were restored from a backup, so an attempt can be missing"

// clip limits the size of a text.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), MaxText)], "") }

// retries returns the number of retries of a content or an undo. Other content than the current one is not tried again.
func (d *decision) retries(digest string) int {
	if now := d.Current(); digest == now.Digest && (d.Undoing || !d.Undeclared) {
		return now.Retries
	}
	return 0
}

// attempted reports whether an attempt of a content began its command, or may have. Instances that an earlier version
// of fettle stored do not have this information.
func (d *decision) attempted(digest string) bool {
	return slices.ContainsFunc(d.Attempts, func(a Attempt) bool {
		began := a.Outcome == fleet.TaskDone || a.Outcome == fleet.TaskFailed || a.Outcome == ""
		return a.Digest == digest && began && !a.VerifyOnly && a.Fence > d.Undone
	})
}

// lost makes an instance unknown. a is nil if the attempt itself is not known.
func (d *decision) lost(i *Instance, a *Attempt, text string) {
	i.Lost++
	i.Began = i.Began || a == nil // an attempt that the state does not have may have begun
	d.set(i, Unknown, text)
	d.change(IsUnknown, a, text)
	d.decideUnknown(i, a, text)
}

// decideUnknown decides what follows for an instance whose result is unknown.
func (d *decision) decideUnknown(i *Instance, a *Attempt, text string) {
	now := d.Current()
	declared := i.Digest == now.Digest && (d.Undoing || !d.Undeclared)
	switch {
	case i.Lost > MaxLost:
		d.ask(i, a, fmt.Sprintf("%d attempts were lost in sequence: %s", i.Lost, text))
	case declared && now.OnUnknown == Verify && now.Verifiable:
		i.Ask, i.NotBefore = false, d.now+FirstPause.Milliseconds()
	case declared && now.OnUnknown == RetryAgain:
		d.set(i, Waiting, text)
		i.NotBefore = d.now + max(now.RetryAfter, FirstPause).Milliseconds()
	default:
		d.ask(i, a, text)
	}
}

// ask lets a user decide.
func (d *decision) ask(i *Instance, a *Attempt, text string) {
	d.set(i, Unknown, clip(text))
	i.Ask = true
	d.change(Asks, a, i.Text)
}
