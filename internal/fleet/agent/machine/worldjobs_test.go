package machine_test

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// acts checks the laws of jobs with commands.
func (w *world) acts(a machine.RunJob) {
	i := slices.IndexFunc(w.durable().AcceptedJobs,
		func(t machine.AcceptedJob) bool { return t.Job.ID == a.Job.ID && t.Begun })
	switch {
	case w.act != nil:
		w.fault("two requests at a time")
	case w.run != nil && !quiet(a.Job):
		w.fault("request %s begins in the middle of a run", a.Job.ID)
	case i < 0:
		w.fault("request %s begins, and that is not on the disk", a.Job.ID)
	case w.begun[a.Job.ID]:
		w.fault("request %s is run twice", a.Job.ID)
	}
	if t := a.Job.Task; t != nil && (w.now.Wall > t.Expires*int64(time.Second) ||
		w.durable().Accepted != nil && w.durable().Accepted.Frozen != "" && !t.VerifyOnly) {
		w.fault("attempt %s begins, and it expired, or the target is frozen", a.Job.ID)
	}
	w.act, w.begun[a.Job.ID] = &a, true
}

// quiet reports whether a job changes nothing.
func quiet(d fleet.Job) bool {
	if d.Task != nil {
		return d.Task.VerifyOnly
	}
	return d.Run.ReadOnly
}

// endAct ends the command of a job. locked: another process had the lock, and the command did not
// run.
func (w *world) endAct(locked bool) {
	id, task := w.act.Job.ID, w.act.Job.Task
	w.act = nil
	if locked {
		delete(w.begun, id)
	}
	answer := fleet.JobAnswer{ID: id, Result: &fleet.CommandResult{Exit: 3}}
	if task != nil {
		answer.Task = fleet.TaskFailed
	}
	w.step(machine.JobEnded{Answer: answer, Locked: locked})
}

// inform completes the transmission of a result.
func (w *world) inform(err string) {
	d := *w.end
	w.end = nil
	if err == "" {
		if was, known := w.ended[d.ID]; known && (was.Interrupted != d.Interrupted || was.Cancelled != d.Cancelled) {
			w.fault("request %s ended as %+v, and then as %+v", d.ID, was, d)
		}
		w.ended[d.ID] = d
	}
	w.step(machine.JobAnswerSent{ID: d.ID, Error: err})
}
