package fanout

import (
	"fmt"
	"time"
)

// Machine decides what happens next. It has no clock and starts nothing: it is
// told what happened, each time with the time, and answers with events, of which
// Started and Cancelled are for its driver to act on. The same calls give the same
// events. It is not safe for concurrent use.
type Machine struct {
	parallel int
	batch    int
	most     int // failures that are let go, -1 for any number

	results    []Result
	place      map[string]int
	state      []state
	next       int // the first that has not begun
	end        int // of the present batch
	running    int
	failed     int
	interrupts int
	begun      bool
	stopped    bool
	finished   bool
}

// state is how far a target is.
type state uint8

const (
	waiting state = iota
	running
	ended
)

// NewMachine makes a machine for targets, in the order in which they start. A name
// that is there twice counts once.
func NewMachine(targets []string, o Options) *Machine {
	m := &Machine{parallel: o.Parallel, most: -1, place: map[string]int{}}
	for _, t := range targets {
		if _, twice := m.place[t]; !twice {
			m.place[t] = len(m.results)
			m.results = append(m.results, Result{Target: t})
		}
	}
	m.state = make([]state, len(m.results))
	if m.parallel <= 0 {
		m.parallel = DefaultParallel
	}
	m.batch = o.Batch.batch(len(m.results))
	m.end = m.batch
	if o.MaxFailed != nil {
		m.most = o.MaxFailed.most(len(m.results))
	}
	return m
}

// Begin starts the first targets. A second time nothing happens.
func (m *Machine) Begin(now time.Time) []Event {
	if m.begun {
		return nil
	}
	m.begun = true
	return m.advance(nil, now)
}

// Ended takes the outcome of a target that was started. What is said of any other,
// or a second time, does not count.
func (m *Machine) Ended(target string, o Outcome, now time.Time) []Event {
	i, known := m.place[target]
	if !known || m.state[i] != running {
		return nil
	}
	if o.Status == Unset || o.Status > Skipped {
		o.Status = Failed
	}
	m.running--
	if o.Status.bad() {
		m.failed++
	}
	out := m.record(nil, i, o, now)
	if m.most >= 0 && m.failed > m.most && m.next < len(m.results) {
		out = m.stop(out, fmt.Sprintf("%d failed", m.failed), now)
	}
	return m.advance(out, now)
}

// Interrupt stops what has not begun, and the second time what runs. After that,
// and when all is over, nothing happens.
func (m *Machine) Interrupt(now time.Time) []Event {
	if m.finished {
		return nil
	}
	m.begun = true
	m.interrupts++
	switch m.interrupts {
	case 1:
		return m.advance(m.stop(nil, "it was interrupted", now), now)
	case 2:
		return []Event{m.event(Event{At: now, What: Cancelled})}
	}
	return nil
}

// Finished tells whether every target has its outcome.
func (m *Machine) Finished() bool { return m.finished }

// Summary is what is known so far. The caller owns it.
func (m *Machine) Summary() Summary { return append(Summary{}, m.results...) }

// advance starts what may start, and tells when all is over.
func (m *Machine) advance(out []Event, now time.Time) []Event {
	for m.running < m.parallel && m.next < len(m.results) {
		if m.next == m.end {
			if m.running > 0 {
				break
			}
			m.end = min(m.end+m.batch, len(m.results))
		}
		i := m.next
		m.next++
		m.running++
		m.state[i] = running
		m.results[i].Began = now
		out = append(out, m.event(Event{At: now, What: Started, Target: m.results[i].Target}))
	}
	if m.running == 0 && m.next == len(m.results) && !m.finished {
		m.finished = true
		out = append(out, m.event(Event{At: now, What: Finished}))
	}
	return out
}

// stop ends everything that has not begun.
func (m *Machine) stop(out []Event, why string, now time.Time) []Event {
	if m.stopped {
		return out
	}
	m.stopped = true
	left := m.next
	m.next = len(m.results)
	out = append(out, m.event(Event{At: now, What: Stopped, Why: why}))
	for i := left; i < len(m.results); i++ {
		m.results[i].Began = now
		out = m.record(out, i, Outcome{Status: Skipped, Why: "not begun, since " + why}, now)
	}
	return out
}

func (m *Machine) record(out []Event, i int, o Outcome, now time.Time) []Event {
	m.state[i] = ended
	m.results[i].Outcome, m.results[i].Ended = o, now
	return append(out, m.event(Event{At: now, What: Ended, Target: m.results[i].Target, Outcome: o}))
}

// event completes an event with how many run and wait.
func (m *Machine) event(e Event) Event {
	e.Running, e.Waiting = m.running, len(m.results)-m.next
	return e
}
