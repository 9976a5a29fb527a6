package machine

import (
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// AcceptedJob is a job that runs something, from when it was taken until a hub has how it
// ended. Each is begun once: that it has begun is durable before.
type AcceptedJob struct {
	Job   fleet.Job `json:"do"`
	Begun bool      `json:"begun,omitempty"`
	// Tries is how often somebody else worked on the machine.
	Tries int `json:"tries,omitempty"`
	// Answer is how it ended; nil: it has not.
	Answer *fleet.JobAnswer `json:"done,omitempty"`
}

// Bounds of what was taken: so many at once, and so often somebody else's lock is waited
// for, which is most of an hour.
const (
	maxAcceptedJobs = 32
	lockTries       = 120
)

// RunJob runs what a job asks for. One is under way at a time, and none beside a Run but
// for what only looks.
type RunJob struct {
	Job fleet.Job
	// Has is what stands on the machine, with the modules that have no part in it; nil:
	// nothing. Actions are found there.
	Has    *fleet.Assignment
	Absent []string
}

// SendJobAnswer gives a hub how a job ended. One is under way at a time.
type SendJobAnswer struct{ Answer fleet.JobAnswer }

// JobEnded ends an RunJob. Locked says that it never began, since somebody else works on the
// machine.
type JobEnded struct {
	Answer fleet.JobAnswer
	Locked bool
}

// JobAnswerSent ends an SendJobAnswer. Error is "" when it is durable at a hub.
type JobAnswerSent struct{ ID, Error string }

func (RunJob) action()        {}
func (SendJobAnswer) action() {}
func (JobEnded) event()       {}
func (JobAnswerSent) event()  {}

// End has no job begun any more: the process is about to end.
func (m *Machine) End() { m.ending = true }

func (m *Machine) acceptedJob(id string) *AcceptedJob {
	i := slices.IndexFunc(m.AcceptedJobs, func(t AcceptedJob) bool { return t.Job.ID == id })
	if i < 0 {
		return nil
	}
	return &m.AcceptedJobs[i]
}

// keep takes a job that runs something, or says why not.
func (m *Machine) keep(d fleet.Job) error {
	if d.Run == nil {
		return fmt.Errorf("cannot run nothing")
	}
	if err := d.Run.Check(); err != nil {
		return err
	}
	if len(d.Signed) > fleet.MaxSignedJob {
		return fmt.Errorf("cannot accept a signature of %d bytes: %d are the most", len(d.Signed), fleet.MaxSignedJob)
	}
	if len(m.AcceptedJobs) >= maxAcceptedJobs {
		return fmt.Errorf("cannot take it: %d jobs are under way here already. Ask again when they have ended", len(m.AcceptedJobs))
	}
	m.AcceptedJobs = append(m.AcceptedJobs, AcceptedJob{Job: d})
	return nil
}

// asBefore is the answer to a job that was taken before.
func (m *Machine) asBefore(d fleet.Job) fleet.JobAnswer {
	switch {
	case m.acceptedJob(d.ID) != nil:
		return fleet.JobAnswer{ID: d.ID, Accepted: true}
	case d.What == fleet.JobRun:
		return fleet.JobAnswer{ID: d.ID, Error: "it was run before, and a hub has heard how it ended: the history of the target has it"}
	}
	return fleet.JobAnswer{ID: d.ID}
}

// cancelJob ends a job that has not begun.
func (m *Machine) cancelJob(id string) {
	if t := m.acceptedJob(id); t != nil && !t.Begun && t.Answer == nil {
		t.Answer, m.changed = &fleet.JobAnswer{ID: id, Cancelled: true}, true
	}
}

// act begins the oldest job that may be begun.
func (m *Machine) act() {
	if m.acting != nil || m.ending || m.replacing.leaving || !m.isDue(actTimer) {
		return
	}
	for i := range m.AcceptedJobs {
		t := &m.AcceptedJobs[i]
		if t.Answer != nil || m.running != nil && !t.Job.Run.ReadOnly {
			continue
		}
		t.Begun, m.changed = true, true
		job := t.Job
		m.acting = &job
		m.do(RunJob{Job: t.Job, Has: m.Good, Absent: m.Absent})
		return
	}
}

// waitsToAct tells whether a job waits for nothing but its time.
func (m *Machine) waitsToAct() bool {
	return m.acting == nil && !m.replacing.leaving && slices.ContainsFunc(m.AcceptedJobs, func(t AcceptedJob) bool {
		return t.Answer == nil && (m.running == nil || t.Job.Run.ReadOnly)
	})
}

// isActing tells whether what a job runs keeps runs from beginning.
func (m *Machine) isActing() bool { return m.acting != nil && !m.acting.Run.ReadOnly }

func (m *Machine) acted(e JobEnded) {
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

// interrupt ends what had begun when the process before this one ended.
func (m *Machine) interrupt() {
	for i := range m.AcceptedJobs {
		if t := &m.AcceptedJobs[i]; t.Begun && t.Answer == nil {
			t.Answer, m.changed = &fleet.JobAnswer{ID: t.Job.ID, Interrupted: true, Error: "the agent ended while it ran, if it had begun at all; it is not begun again"}, true
		}
	}
}

// inform gives a hub the oldest job that has ended.
func (m *Machine) inform() {
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

func (m *Machine) mustInform() bool {
	return m.up && !m.informing && slices.ContainsFunc(m.AcceptedJobs, func(t AcceptedJob) bool { return t.Answer != nil })
}

func (m *Machine) informed(e JobAnswerSent) {
	m.informing = false
	if e.Error != "" {
		m.again(informTimer, firstInform, longest)
		return
	}
	m.failures[informTimer], m.due[informTimer] = 0, m.now.Mono
	m.AcceptedJobs = slices.DeleteFunc(m.AcceptedJobs, func(t AcceptedJob) bool { return t.Job.ID == e.ID && t.Answer != nil })
	m.changed = true
}

const firstInform = 2 * time.Second
