package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Limits of accepted jobs: their number, and the attempts on a locked host. All attempts together
// last about 40 minutes.
const (
	maxAcceptedJobs = 32
	lockTries       = 120
)

// RunJob executes the command of a job, or an attempt of a task. Only one runs at a time. Only a
// read-only command can run at the same time as a Run.
type RunJob struct {
	Job fleet.Job
	// Has is the applied composition, in which actions are found; nil: none. Absent lists assigned
	// modules that it does not contain.
	Has    *fleet.Assignment
	Absent []string
}

// SendJobAnswer sends the result of a job to a hub. Only one is in transit at a time.
type SendJobAnswer struct{ Answer fleet.JobAnswer }

// JobEnded ends a RunJob. Locked reports that the command did not begin, because another process
// has the lock of the host.
type JobEnded struct {
	Answer fleet.JobAnswer
	Locked bool
}

// JobAnswerSent ends a SendJobAnswer. Error is "" if the result is durable at a hub.
type JobAnswerSent struct{ ID, Error string }

func (RunJob) action()        {}
func (SendJobAnswer) action() {}
func (JobEnded) event()       {}
func (JobAnswerSent) event()  {}

// End prevents the start of further jobs, because the process ends.
func (m *Machine) End() { m.jobs.ending = true }

func (m *jobs) acceptedJob(id string) *AcceptedJob {
	i := slices.IndexFunc(m.AcceptedJobs, func(t AcceptedJob) bool { return t.Job.ID == id })
	if i < 0 {
		return nil
	}
	return &m.AcceptedJobs[i]
}

// keep accepts a job with a command or an attempt of a task, or returns the reason for a refusal.
func (m *jobs) keep(d fleet.Job) error {
	if err := checkJob(d); err != nil {
		return err
	}
	if len(d.Signed) > fleet.MaxSignedJob {
		return fmt.Errorf("cannot accept a signature of %d bytes: the limit is %d", len(d.Signed), fleet.MaxSignedJob)
	}
	if len(m.AcceptedJobs) >= maxAcceptedJobs {
		return fmt.Errorf(
			"cannot accept the job: %d jobs wait or run on this host already. Send it again after some of them have ended",
			len(m.AcceptedJobs))
	}
	t := AcceptedJob{Job: d}
	if d.Task != nil {
		t.Received = m.now.Wall
	}
	m.AcceptedJobs = append(m.AcceptedJobs, t)
	return nil
}

// checkJob returns the reason for which a job has no valid work.
func checkJob(d fleet.Job) error {
	switch {
	case d.What == fleet.JobTask && d.Run != nil:
		return errors.New("cannot execute the job: it contains an attempt of a task and also a command")
	case d.What == fleet.JobTask:
		return checkTask(d.Task)
	case d.Task != nil:
		return errors.New("cannot run the job: it contains a command and also an attempt of a task")
	case d.Run == nil:
		return errors.New("cannot run the job: it contains no command")
	}
	return d.Run.Check()
}

// asBefore returns the answer to a job that was accepted before.
func (m *jobs) asBefore(d fleet.Job) fleet.JobAnswer {
	switch {
	case m.acceptedJob(d.ID) != nil:
		return fleet.JobAnswer{ID: d.ID, Accepted: true}
	case d.What == fleet.JobRun || d.What == fleet.JobTask:
		return fleet.JobAnswer{ID: d.ID, Error: "it ran before on this target; the history of the target contains the result"}
	}
	return fleet.JobAnswer{ID: d.ID}
}

// cancelJob cancels a job that has not begun. Other jobs do not change.
func (m *jobs) cancelJob(id string) {
	if t := m.acceptedJob(id); t != nil && !t.Begun && t.Answer == nil {
		t.Answer, m.changed = &fleet.JobAnswer{ID: id, Cancelled: true}, true
	}
}

// act starts the oldest job that can begin now.
func (m *jobs) act() {
	if m.acting != nil || m.ending || m.replacing.leaving || !m.isDue(actTimer) {
		return
	}
	for i := range m.AcceptedJobs {
		t := &m.AcceptedJobs[i]
		if t.Answer != nil || m.running != nil && !readOnly(t.Job) {
			continue
		}
		t.Begun, m.changed = true, true
		job := t.Job
		m.acting = &job
		m.do(RunJob{Job: t.Job, Has: m.Applied, Absent: m.Absent})
		return
	}
}

// waitsToAct reports whether a job waits only for actTimer.
func (m *jobs) waitsToAct() bool {
	return m.acting == nil && !m.replacing.leaving && slices.ContainsFunc(m.AcceptedJobs, func(t AcceptedJob) bool {
		return t.Answer == nil && (m.running == nil || readOnly(t.Job))
	})
}

// isActing reports whether a job with changes runs. It prevents runs.
func (m *jobs) isActing() bool { return m.acting != nil && !readOnly(*m.acting) }

func (m *jobs) acted(e JobEnded) {
	m.acting = nil
	t := m.acceptedJob(e.Answer.ID)
	if t == nil {
		return
	}
	m.changed = true
	if !e.Locked {
		t.Answer = &e.Answer
		return
	}
	t.Begun = false
	if t.Tries++; t.Tries >= lockTries {
		t.Answer = &e.Answer
		return
	}
	m.due[actTimer] = m.now.Mono + lockAgain
}

// interrupt ends the jobs that ran when the previous process ended.
func (m *jobs) interrupt() {
	for i := range m.AcceptedJobs {
		if t := &m.AcceptedJobs[i]; t.Begun && t.Answer == nil {
			t.Answer, m.changed = &fleet.JobAnswer{ID: t.Job.ID, Interrupted: true,
				Error: "the agent ended during the command or shortly before its start; fettle does not start the command again"},
				true
		}
	}
}

// inform sends the result of the oldest ended job to a hub.
func (m *jobs) inform() {
	if !m.mustInform() || !m.isDue(informTimer) {
		return
	}
	for _, t := range m.AcceptedJobs {
		if t.Answer != nil {
			m.informing = true
			m.do(SendJobAnswer{*t.Answer})
			return
		}
	}
}

func (m *jobs) mustInform() bool {
	return m.up && !m.informing && slices.ContainsFunc(m.AcceptedJobs, func(t AcceptedJob) bool { return t.Answer != nil })
}

func (m *jobs) informed(e JobAnswerSent) {
	m.informing = false
	if e.Error != "" {
		m.again(informTimer, firstInform, longest)
		return
	}
	m.failures[informTimer], m.due[informTimer] = 0, m.now.Mono
	m.AcceptedJobs = slices.DeleteFunc(m.AcceptedJobs,
		func(t AcceptedJob) bool { return t.Job.ID == e.ID && t.Answer != nil })
	m.changed = true
}

const firstInform = 2 * time.Second
