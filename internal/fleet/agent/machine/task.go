package machine

import (
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// longestTaskName is the maximum length of a scope, a task and a digest, in bytes.
const longestTaskName = 256

// checkTask returns the reason for which a job is not a valid attempt of a task.
func checkTask(t *fleet.TaskAttempt) error {
	switch {
	case t == nil:
		return errors.New("cannot execute the job: it contains no attempt of a task")
	case t.Scope == "" || t.Task == "" || t.Digest == "" || t.Expires <= 0:
		return errors.New("cannot execute the attempt of a task: its scope, name, digest or expiry is missing")
	case max(len(t.Scope), len(t.Task), len(t.Digest)) > longestTaskName:
		return fmt.Errorf("cannot execute the attempt of a task: a name is longer than %d bytes", longestTaskName)
	}
	return nil
}

// readOnly reports whether a job changes nothing.
func readOnly(d fleet.Job) bool {
	return d.Run != nil && d.Run.ReadOnly || d.Task != nil && d.Task.VerifyOnly
}

// refuseTasks ends the attempts that must not begin now. A hub then chooses another target or another time.
func (m *jobs) refuseTasks() {
	for i := range m.AcceptedJobs {
		t := &m.AcceptedJobs[i]
		if t.Job.Task == nil || t.Begun || t.Answer != nil {
			continue
		}
		why := ""
		switch frozen := m.frozen(); {
		case m.untilExpiry(t) <= 0:
			why = "the attempt expired before it could begin"
		case m.Accepted != nil && m.Accepted.Withdrawn != "":
			why = "the assignment of this target is withdrawn: " + m.Accepted.Withdrawn
		case frozen != "" && !t.Job.Task.VerifyOnly:
			why = "this target is frozen: " + frozen
		default:
			continue
		}
		t.Answer, m.changed = &fleet.JobAnswer{ID: t.Job.ID, Task: fleet.TaskRefused, Error: why}, true
	}
}

// untilExpiry returns the time until an attempt must no longer begin. A host whose clock is behind counts from the
// receipt of the job: its attempt lasts no longer than between its creation and its expiry.
func (m *jobs) untilExpiry(t *AcceptedJob) time.Duration {
	left := time.Unix(t.Job.Task.Expires, 0).Sub(time.Unix(0, m.now.Wall))
	if life := t.Job.Task.Expires - t.Job.At; t.Job.At > 0 && life < int64(time.Hour/time.Second)*24 {
		left = min(left, time.Duration(life)*time.Second-time.Duration(m.now.Wall-t.Received))
	}
	return left
}

// nextExpiry returns the time of the next step for attempts that wait, or never.
func (m *jobs) nextExpiry() time.Duration {
	next := never
	for i := range m.AcceptedJobs {
		if t := &m.AcceptedJobs[i]; t.Job.Task != nil && !t.Begun && t.Answer == nil {
			next = min(next, m.now.Mono+max(m.untilExpiry(t), 0))
		}
	}
	return next
}
